// Configurations: what is accepted and written out resolved is accepted again, and is the same.

#include "sim/config/parse.h"
#include "sim/config/resolved_config.h"
#include "tests/fuzz/config_members.h"
#include "tests/fuzz/fuzz_target.h"

namespace pinfold::fuzz {
namespace {

void run(std::string_view text) {
  const auto config = sim::parse_config(text, "fuzz.json");
  if (!config) {
    require(!describe(config.error()).empty(), "a mistake is described");
    return;
  }
  const std::string resolved = sim::resolved_json(config.value());
  const auto again = sim::parse_config(resolved, "resolved.json");
  require(static_cast<bool>(again),
          "a resolved configuration is one: " + (again ? "" : describe(again.error())));
  require(sim::resolved_json(again.value()) == resolved, "resolved twice is resolved once");
  require(sim::config_digest(again.value()) == sim::config_digest(config.value()),
          "equal configurations have one digest");
}

}  // namespace

const std::vector<KnownMember>& known_members() {
  static const std::vector<KnownMember> kMembers = config_members("");
  return kMembers;
}

}  // namespace pinfold::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pinfold::fuzz::run(pinfold::fuzz::text_of(data, size));
  return 0;
}
