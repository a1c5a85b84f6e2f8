#pragma once
// The results of checks, in every format of `pinfold check`. docs/ci.md shows them.

#include <span>
#include <string>
#include <string_view>

#include "sim/gate/check.h"

namespace pinfold::sim {

/// What was asked of each check and how it came out, the figures that moved, and where the runs part.
std::string check_text(std::span<const CheckResult> results);

/// The same with every figure.
std::string check_json(std::span<const CheckResult> results);

/// For a comment or a step's summary.
std::string check_markdown(std::span<const CheckResult> results);

/// JUnit XML: a suite for each check, a case for each requirement and each figure that is judged.
std::string check_junit(std::span<const CheckResult> results);

/// Workflow commands of GitHub Actions: an error for each failure, a warning for what its tolerance lets
/// pass, a notice for what is better; nine of a kind at the most, then how many more there are.
std::string check_github(std::span<const CheckResult> results);

/// `text` as content or attribute of XML 1.0; what XML cannot hold becomes U+FFFD.
std::string xml_escaped(std::string_view text);

/// `text` behind the `::` of a workflow command, and as one of its properties.
std::string github_data(std::string_view text);
std::string github_property(std::string_view text);

}  // namespace pinfold::sim
