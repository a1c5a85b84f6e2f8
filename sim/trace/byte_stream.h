#pragma once
// The bytes of a file or of standard input, unpacked where they are compressed.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// Bytes one after the other.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  /// Fills up to `size` bytes, at least one; 0 at the end or after a mistake, which error() then holds.
  virtual std::size_t read(char* into, std::size_t size) = 0;
  virtual const std::optional<InputError>& error() const = 0;
};

/// Opens a file, or standard input for "-". gzip and Zstandard are recognised by their first bytes and
/// unpacked on the way. A missing or unreadable file and a directory are errors; `wanted` names what
/// should have been there ("a trace").
Outcome<std::unique_ptr<ByteStream>> open_bytes(const std::string& path, const std::string& wanted);

/// A text in memory, which must outlive the stream.
std::unique_ptr<ByteStream> bytes_of(std::string_view text);

}  // namespace pinfold::sim
