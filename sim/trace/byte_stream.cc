#include "sim/trace/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"

namespace pinfold::sim {
namespace {

constexpr std::size_t kPacked = std::size_t{1} << 16;

InputError unreadable(const std::string& path, int reason, const std::string& wanted) {
  InputError error;
  error.path = path;
  error.expected = wanted;
  if (reason == ENOENT) {
    error.found = "no file of this name";
  } else if (reason == EACCES) {
    error.found = "a file that this user may not read";
  } else if (reason == EISDIR) {
    error.found = "a directory";
  } else {
    error.found = std::string("a file that cannot be read: ") + std::strerror(reason);
  }
  return error;
}

/// What the file system or a pipe gives.
class FileBytes final : public ByteStream {
 public:
  FileBytes(int descriptor, std::string path, std::string wanted)
      : descriptor_(descriptor), path_(std::move(path)), wanted_(std::move(wanted)) {}
  ~FileBytes() override {
    if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
  }

  std::size_t read(char* into, std::size_t size) override {
    if (!first_.empty()) {
      const std::size_t given = std::min(size, first_.size());
      std::memcpy(into, first_.data(), given);
      first_.erase(0, given);
      return given;
    }
    return read_on(into, size);
  }

  /// The first bytes, which read() gives out again; fewer than `size` only where the file is shorter.
  std::string_view peek(std::size_t size) {
    first_.resize(size);
    std::size_t have = 0;
    while (have < size) {
      const std::size_t got = read_on(first_.data() + have, size - have);
      if (got == 0) break;
      have += got;
    }
    first_.resize(have);
    return first_;
  }

  const std::optional<InputError>& error() const override { return error_; }

 private:
  std::size_t read_on(char* into, std::size_t size) {
    for (;;) {
      const ssize_t got = ::read(descriptor_, into, size);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno == EINTR) continue;
      error_ = unreadable(path_, errno, wanted_);
      return 0;
    }
  }

  int descriptor_;
  std::string path_;
  std::string wanted_;
  std::string first_;
  std::optional<InputError> error_;
};

InputError broken(const std::string& path, const char* what, const char* hint) {
  InputError error;
  error.path = path;
  error.found = what;
  error.expected = "compressed data that unpacks";
  error.hint = hint;
  return error;
}

/// gzip, one or several members.
class GzipBytes final : public ByteStream {
 public:
  GzipBytes(std::unique_ptr<ByteStream> packed, std::string path)
      : packed_(std::move(packed)), path_(std::move(path)) {
    constexpr int kGzipOnly = 15 + 16;
    PINFOLD_CHECK(inflateInit2(&state_, kGzipOnly) == Z_OK, "trace", "zlib cannot start");
  }
  ~GzipBytes() override { inflateEnd(&state_); }

  std::size_t read(char* into, std::size_t size) override {
    if (error_ || size == 0) return 0;
    const auto room = static_cast<uInt>(std::min<std::size_t>(size, UINT32_MAX));
    state_.next_out = reinterpret_cast<Bytef*>(into);
    state_.avail_out = room;
    while (state_.avail_out == room) {
      if (state_.avail_in == 0) {
        const std::size_t got = packed_->read(input_.data(), input_.size());
        if (packed_->error()) return error_ = packed_->error(), 0;
        if (got == 0) {
          if (!member_ended_) {
            error_ = broken(path_, "gzip data that ends in the middle", "fetch the file again");
          }
          return 0;
        }
        state_.next_in = reinterpret_cast<Bytef*>(input_.data());
        state_.avail_in = static_cast<uInt>(got);
      }
      if (member_ended_) {
        inflateReset(&state_);
        member_ended_ = false;
      }
      const int status = inflate(&state_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        member_ended_ = true;
      } else if (status != Z_OK) {
        error_ = broken(path_, "broken gzip data", "fetch the file again");
        return 0;
      }
    }
    return room - state_.avail_out;
  }
  const std::optional<InputError>& error() const override { return error_; }

 private:
  std::unique_ptr<ByteStream> packed_;
  std::string path_;
  z_stream state_{};
  std::array<char, kPacked> input_{};
  bool member_ended_ = false;
  std::optional<InputError> error_;
};

/// Zstandard, one or several frames.
class ZstdBytes final : public ByteStream {
 public:
  ZstdBytes(std::unique_ptr<ByteStream> packed, std::string path)
      : packed_(std::move(packed)), path_(std::move(path)), state_(ZSTD_createDStream()) {
    PINFOLD_CHECK(state_ != nullptr, "trace", "zstd cannot start");
  }
  ~ZstdBytes() override { ZSTD_freeDStream(state_); }

  std::size_t read(char* into, std::size_t size) override {
    if (error_ || size == 0) return 0;
    ZSTD_outBuffer out{into, size, 0};
    while (out.pos == 0) {
      if (in_.pos == in_.size) {
        const std::size_t got = packed_->read(input_.data(), input_.size());
        if (packed_->error()) return error_ = packed_->error(), 0;
        if (got == 0) {
          if (wanted_ != 0) {
            error_ = broken(path_, "zstd data that ends in the middle", "fetch the file again");
          }
          return 0;
        }
        in_ = {input_.data(), got, 0};
      }
      wanted_ = ZSTD_decompressStream(state_, &out, &in_);
      if (ZSTD_isError(wanted_) != 0) {
        error_ = broken(path_, "broken zstd data", "fetch the file again");
        return 0;
      }
    }
    return out.pos;
  }
  const std::optional<InputError>& error() const override { return error_; }

 private:
  std::unique_ptr<ByteStream> packed_;
  std::string path_;
  ZSTD_DStream* state_;
  std::array<char, kPacked> input_{};
  ZSTD_inBuffer in_{nullptr, 0, 0};
  std::size_t wanted_ = 0;  // bytes until the frame's end, as zstd guesses; 0: a frame has ended
  std::optional<InputError> error_;
};

class TextBytes final : public ByteStream {
 public:
  explicit TextBytes(std::string_view text) : rest_(text) {}
  std::size_t read(char* into, std::size_t size) override {
    const std::size_t given = std::min(size, rest_.size());
    if (given != 0) std::memcpy(into, rest_.data(), given);
    rest_.remove_prefix(given);
    return given;
  }
  const std::optional<InputError>& error() const override { return none_; }

 private:
  std::string_view rest_;
  std::optional<InputError> none_;
};

}  // namespace

Outcome<std::unique_ptr<ByteStream>> open_bytes(const std::string& path,
                                                const std::string& wanted) {
  int descriptor = STDIN_FILENO;
  if (path != "-") {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return unreadable(path, errno, wanted);
  }
  auto file = std::make_unique<FileBytes>(descriptor, path, wanted);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return unreadable(path, errno, wanted);
  if (S_ISDIR(status.st_mode)) return unreadable(path, EISDIR, wanted);

  const std::string_view first = file->peek(4);
  if (file->error()) return *file->error();
  std::unique_ptr<ByteStream> bytes;
  if (first.starts_with("\x1F\x8B")) {
    bytes = std::make_unique<GzipBytes>(std::move(file), path);
  } else if (first == "\x28\xB5\x2F\xFD") {
    bytes = std::make_unique<ZstdBytes>(std::move(file), path);
  } else {
    bytes = std::move(file);
  }
  return bytes;
}

std::unique_ptr<ByteStream> bytes_of(std::string_view text) {
  return std::make_unique<TextBytes>(text);
}

}  // namespace pinfold::sim
