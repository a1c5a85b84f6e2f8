#include "sim/record/journal_scan.h"

#include <cstring>

#include "sim/record/journal_words.h"

namespace pinfold::sim {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  bool text(std::string_view expected) {
    if (static_cast<std::size_t>(end_ - at_) < expected.size()) return false;
    if (std::memcmp(at_, expected.data(), expected.size()) != 0) return false;
    at_ += expected.size();
    return true;
  }

  /// A whole number without leading zeros, at most `most`.
  template <class T>
  bool number(std::uint64_t most, T& place) {
    std::uint64_t value = 0;
    const char* const first = at_;
    for (; at_ < end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
      value = 10 * value + static_cast<std::uint64_t>(*at_ - '0');
      if (value > most) return false;
    }
    if (at_ == first || (*first == '0' && at_ - first > 1)) return false;
    place = static_cast<T>(value);
    return true;
  }

  /// Up to the closing quote, which is passed.
  std::string_view word() {
    const char* const first = at_;
    while (at_ < end_ && *at_ != '"') ++at_;
    if (at_ == end_) return {};
    return {first, static_cast<std::size_t>(at_++ - first)};
  }

  bool at_end() const { return at_ == end_; }

 private:
  const char* at_;
  const char* end_;
};

}  // namespace

bool scan_event(std::string_view line, Record& record, std::vector<BlockId>& ids) {
  Scanner scanner(line);
  record = Record{};
  ids.clear();
  if (!scanner.text(R"({"event": ")")) return false;
  const std::optional<Verb> verb = verb_of(scanner.word());
  if (!verb) return false;
  record.verb = *verb;
  if (!scanner.text(names_step(*verb) ? R"(, "step": )" : R"(, "sequence": )") ||
      !scanner.number(UINT32_MAX, record.sequence)) {
    return false;
  }
  if (scanner.text(R"(, "pool": ")")) {
    const std::optional<PoolKind> pool = pool_of(scanner.word());
    if (!pool) return false;
    record.pool = *pool;
  }
  if (scanner.text(R"(, "detail": )") && !scanner.number(UINT16_MAX, record.detail)) return false;
  if (scanner.text(R"(, "count": )")) {
    if (takes_ids(*verb) || !scanner.number(UINT32_MAX, record.count)) return false;
  }
  if (scanner.text(R"(, "aux": )") && !scanner.number(UINT32_MAX, record.aux)) return false;
  if (takes_ids(*verb)) {
    if (!scanner.text(R"(, "ids": [)")) return false;
    if (!scanner.text("]")) {
      do {
        std::uint32_t id = 0;
        if (!scanner.number(UINT32_MAX, id)) return false;
        ids.push_back(BlockId{id});
      } while (scanner.text(", "));
      if (!scanner.text("]")) return false;
    }
    if (*verb == Verb::kCopyQueued && ids.size() != 2) return false;
    record.count = static_cast<std::uint32_t>(ids.size());
  }
  return scanner.text("}") && scanner.at_end();
}

}  // namespace pinfold::sim
