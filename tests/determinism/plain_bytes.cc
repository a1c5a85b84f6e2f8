// sim/trace/byte_stream.h without zlib and zstd, for cross.py: files as they are, never unpacked.

#include <fstream>
#include <sstream>

#include "sim/trace/byte_stream.h"

namespace pinfold::sim {
namespace {

class PlainBytes final : public ByteStream {
 public:
  explicit PlainBytes(std::string text) : text_(std::move(text)) {}
  std::size_t read(char* into, std::size_t size) override {
    const std::size_t taken = text_.copy(into, size, at_);
    at_ += taken;
    return taken;
  }
  const std::optional<InputError>& error() const override { return none_; }

 private:
  std::string text_;
  std::size_t at_ = 0;
  std::optional<InputError> none_;
};

}  // namespace

Outcome<std::unique_ptr<ByteStream>> open_bytes(const std::string& path,
                                                const std::string& wanted) {
  const std::ifstream file(path, std::ios::binary);
  if (!file) {
    InputError error;
    error.path = path;
    error.expected = wanted;
    return error;
  }
  std::ostringstream text;
  text << file.rdbuf();
  return std::unique_ptr<ByteStream>(new PlainBytes(text.str()));
}

std::unique_ptr<ByteStream> bytes_of(std::string_view text) {
  return std::make_unique<PlainBytes>(std::string(text));
}

}  // namespace pinfold::sim
