#pragma once
// The options of a configuration as members of an input, with values at the ends of what each may be.

#include <string>
#include <variant>
#include <vector>

#include "sim/config/option.h"
#include "tests/fuzz/known_members.h"

namespace pinfold::fuzz {

/// Values of one kind of option.
struct OptionValues {
  std::vector<std::string> operator()(const sim::IntegerOption& option) const {
    return bounds(option.least, option.most);
  }
  std::vector<std::string> operator()(const sim::DecimalOption& option) const {
    std::vector<std::string> values = bounds(option.least, option.most);
    values.push_back("0.5");
    return values;
  }
  std::vector<std::string> operator()(const sim::MicrosecondOption& option) const {
    return bounds(0, option.most_us);
  }
  std::vector<std::string> operator()(const sim::ChoiceOption& option) const {
    std::vector<std::string> words;
    for (const std::string_view word : option.words)
      words.push_back("\"" + std::string(word) + "\"");
    return words;
  }
  std::vector<std::string> operator()(const sim::BooleanOption&) const { return {"true", "false"}; }
  std::vector<std::string> operator()(const sim::ListOption& option) const {
    const std::string least = std::to_string(option.least), most = std::to_string(option.most);
    return {"[]", "[" + least + "]", "[" + least + ", " + most + "]", "[" + most + "]"};
  }
  std::vector<std::string> operator()(const sim::TextOption&) const { return {"\"\"", "\"none\""}; }

  static std::vector<std::string> bounds(std::uint64_t least, std::uint64_t most) {
    return {std::to_string(least), std::to_string(least + 1), std::to_string(least + 7),
            std::to_string(most), std::to_string(most + 1)};
  }
};

/// Each option as a member; `above`: the path of the configuration in the input, with its dot.
inline std::vector<KnownMember> config_members(const std::string& above) {
  std::vector<KnownMember> members;
  for (const sim::Option& option : sim::all_options()) {
    KnownMember member{above + std::string(option.path), std::visit(OptionValues{}, option.kind)};
    if (option.condition) {
      for (const std::string_view other : option.condition->depends_on) {
        member.needs.push_back(above + std::string(other));
      }
    }
    members.push_back(std::move(member));
  }
  return members;
}

}  // namespace pinfold::fuzz
