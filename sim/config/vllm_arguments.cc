#include "sim/config/vllm_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/config/decimal_text.h"
#include "sim/config/json_reader.h"
#include "sim/trace/closest_word.h"

namespace pinfold::sim {
namespace {

constexpr std::string_view kFlag = "--vllm-args";

InputError mistake(std::string found, std::string expected, std::string hint = {}) {
  InputError error;
  error.path = kFlag;
  error.found = std::move(found);
  error.expected = std::move(expected);
  error.hint = std::move(hint);
  return error;
}

// --- Words ---------------------------------------------------------------------------------------

/// Splits as a POSIX shell does, without expanding anything.
class WordSplitter {
 public:
  explicit WordSplitter(std::string_view text) : text_(text) {}

  Outcome<std::vector<std::string>> split() {
    while (at_ < text_.size()) {
      const char letter = text_[at_++];
      if (is_space(letter)) {
        end_word();
        continue;
      }
      inside_ = true;
      if (letter == '\'' || letter == '"') {
        if (!quoted(letter)) {
          return mistake(fmt::format("an opening quote {} without a closing one", letter),
                         "words as a shell takes them");
        }
      } else if (letter == '\\' && at_ < text_.size()) {
        // A backslash joins lines, as in a command copied from a script.
        if (text_[at_] == '\n') {
          inside_ = !word_.empty();
        } else {
          word_ += text_[at_];
        }
        ++at_;
      } else {
        word_ += letter;
      }
    }
    end_word();
    return std::move(words_);
  }

 private:
  static bool is_space(char letter) {
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
  }

  void end_word() {
    if (inside_) words_.push_back(std::move(word_));
    word_.clear();
    inside_ = false;
  }

  bool quoted(char quote) {
    while (at_ < text_.size()) {
      char letter = text_[at_++];
      if (letter == quote) return true;
      const bool escapes = quote == '"' && letter == '\\' && at_ < text_.size() &&
                           (text_[at_] == '"' || text_[at_] == '\\');
      if (escapes) letter = text_[at_++];
      word_ += letter;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string word_;
  bool inside_ = false;
  std::vector<std::string> words_;
};

// --- Values --------------------------------------------------------------------------------------

/// A flag's value in our words, or nothing if vLLM would not take it.
using Translate = std::optional<std::string> (*)(const std::string&);

std::optional<std::string> as_it_is(const std::string& value) { return value; }

/// vLLM's human-readable integers: k, m, g and t are powers of 1000 and take decimals, K, M, G and T
/// powers of 1024 and do not.
std::optional<std::string> human_integer(const std::string& value) {
  constexpr std::string_view kDecimal = "kmgt";
  constexpr std::string_view kBinary = "KMGT";
  const char last = value.empty() ? ' ' : value.back();
  const std::size_t decimal = kDecimal.find(last);
  const std::size_t binary = kBinary.find(last);
  if (decimal == std::string_view::npos && binary == std::string_view::npos) return value;
  const std::optional<Rational> number =
      parse_decimal(std::string_view(value).substr(0, value.size() - 1));
  if (!number || number->numerator > 1'000'000'000) return std::nullopt;
  if (binary != std::string_view::npos && number->denominator != 1) return std::nullopt;
  const std::uint64_t base = decimal != std::string_view::npos ? 1000 : 1024;
  const std::size_t power = decimal != std::string_view::npos ? decimal : binary;
  // 10^9 x 1024^3 fits 64 bits; four powers are more than any option takes.
  if (power == 3) return std::nullopt;
  std::uint64_t scale = base;
  for (std::size_t i = 0; i < power; ++i) scale *= base;
  return fmt::format("{}", number->numerator * scale / number->denominator);
}

/// vLLM's names of cache types by their width.
std::optional<std::string> cache_bytes(const std::string& value) {
  if (value.starts_with("fp8")) return "1";
  if (value == "bfloat16" || value == "float16" || value == "half") return "2";
  return std::nullopt;
}

/// The number of drafts in a speculative configuration, which is a JSON object.
std::optional<std::string> drafts_of(const std::string& value) {
  const Outcome<JsonValue> json = parse_json(value, std::string(kFlag));
  if (!json) return std::nullopt;
  for (const JsonMember& member : json.value().members) {
    if (member.key == "num_speculative_tokens") return member.value.text;
  }
  return std::nullopt;
}

// --- Flags ---------------------------------------------------------------------------------------

struct Flag {
  std::string_view name;
  std::string_view option;  // of ours
  Translate translate;
  std::string_view expected;
};

constexpr std::string_view kInteger = "an integer";
constexpr std::string_view kHumanInteger = "an integer, as 8192, 8k (8000) or 8K (8192)";

constexpr std::array<Flag, 11> kFlags{
    Flag{"num-gpu-blocks-override", "engine.num_blocks", as_it_is, kInteger},
    Flag{"block-size", "engine.block_size", as_it_is, kInteger},
    Flag{"max-num-seqs", "engine.max_num_seqs", as_it_is, kInteger},
    Flag{"max-num-batched-tokens", "engine.max_num_batched_tokens", human_integer, kHumanInteger},
    Flag{"max-model-len", "engine.max_model_len", human_integer, kHumanInteger},
    Flag{"tensor-parallel-size", "engine.tensor_parallel_size", as_it_is, kInteger},
    Flag{"gpu-memory-utilization", "memory.utilization", as_it_is, "a decimal"},
    Flag{"kv-cache-dtype", "model.kv_bytes_per_element", cache_bytes,
         "fp8, bfloat16 or float16 with an optional ending"},
    Flag{"num-speculative-tokens", "workload.drafts", as_it_is, kInteger},
    Flag{"speculative-config", "workload.drafts", drafts_of,
         "a JSON object with num_speculative_tokens"},
    Flag{"speculative-config.num-speculative-tokens", "workload.drafts", as_it_is, kInteger},
};

struct Alias {
  std::string_view letters;
  std::string_view name;
};
constexpr std::array<Alias, 2> kAliases{Alias{"tp", "tensor-parallel-size"},
                                        Alias{"sc", "speculative-config"}};

/// A flag of vLLM that is close to one of ours and means something else.
constexpr std::array<std::string_view, 1> kNotMisspelt{"max-log-len"};

/// Flags that change what an engine does in a way that no option of ours says.
constexpr std::array<std::string_view, 7> kChangesTheEngine{
    "pipeline-parallel-size", "data-parallel-size",    "no-enable-chunked-prefill",
    "scheduling-policy",      "kv-cache-memory-bytes", "long-prefill-token-threshold",
    "cpu-offload-gb"};

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// One flag as it was written.
struct Given {
  std::string name;                  // with dashes, without the leading ones
  std::optional<std::string> value;  // behind `=`, or the next word
  std::string text;                  // "--block-size 16"
};

bool is_flag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9');
}

/// Takes the flag at `words[at]`, and the word behind it as its value if that is none.
Given take_flag(const std::vector<std::string>& words, std::size_t& at) {
  Given given;
  const std::string& word = words[at++];
  given.text = word;
  const std::size_t equals = word.find('=');
  if (equals != std::string::npos) {
    given.value = word.substr(equals + 1);
  } else if (at < words.size() && !is_flag(words[at])) {
    given.value = words[at];
    given.text += ' ' + words[at++];
  }
  given.name = word.substr(word.find_first_not_of('-'), equals - word.find_first_not_of('-'));
  std::replace(given.name.begin(), given.name.end(), '_', '-');
  for (const Alias& alias : kAliases) {
    if (given.name == alias.letters) given.name = alias.name;
  }
  return given;
}

class Importer {
 public:
  std::optional<InputError> take(const Given& given) {
    for (const Flag& flag : kFlags) {
      if (flag.name == given.name) return take_known(flag, given);
    }
    if (given.name == "enable-prefix-caching") {
      ignore(given, "--set prefix.reuse=on simulates it, where the trace has prefix ids");
      return std::nullopt;
    }
    if (holds(kChangesTheEngine, given.name)) {
      ignore(given, "it changes the engine in a way that is not simulated");
      return std::nullopt;
    }
    std::array<std::string_view, kFlags.size()> names;
    std::transform(kFlags.begin(), kFlags.end(), names.begin(),
                   [](const Flag& flag) { return flag.name; });
    const std::optional<std::string_view> close = closest_word(given.name, names);
    if (close && !holds(kNotMisspelt, given.name) && near(given.name, *close)) {
      return mistake("the unknown flag " + given.text, "a flag of vLLM",
                     fmt::format("did you mean --{}?", *close));
    }
    ignore(given, "it is not simulated");
    return std::nullopt;
  }

  void skip_word(const std::string& word) {
    arguments_.notes.push_back(
        fmt::format("{}: ignored {}: the model comes from the configuration", kFlag, word));
  }

  VllmArguments finish() { return std::move(arguments_); }

 private:
  /// closest_word() allows a third of the letters, which is much in a long flag.
  static bool near(std::string_view word, std::string_view flag) {
    return std::max(word.size(), flag.size()) - std::min(word.size(), flag.size()) <= 2;
  }

  std::optional<InputError> take_known(const Flag& flag, const Given& given) {
    if (!given.value) {
      return mistake(given.text + " without a value", std::string(flag.expected));
    }
    const bool automatic = *given.value == "auto" || *given.value == "-1";
    if (automatic && (flag.name == "max-model-len" || flag.name == "kv-cache-dtype")) {
      ignore(given, "what the engine would choose is the configuration's to say");
      return std::nullopt;
    }
    const std::optional<std::string> value = flag.translate(*given.value);
    if (!value) return mistake(given.text, std::string(flag.expected));
    const std::string place = fmt::format("{} {}", kFlag, given.text);
    for (FlagValue& known : arguments_.values) {
      if (known.path != flag.option) continue;
      known = {std::string(flag.option), *value, place};
      return std::nullopt;
    }
    arguments_.values.push_back({std::string(flag.option), *value, place});
    return std::nullopt;
  }

  void ignore(const Given& given, std::string_view why) {
    arguments_.notes.push_back(fmt::format("{}: ignored {}: {}", kFlag, given.text, why));
  }

  VllmArguments arguments_;
};

}  // namespace

Outcome<VllmArguments> parse_vllm_arguments(std::string_view text) {
  const Outcome<std::vector<std::string>> split = WordSplitter(text).split();
  if (!split) return split.error();
  const std::vector<std::string>& words = split.value();
  Importer importer;
  std::size_t at = 0;
  if (at < words.size() && words[at] == "vllm") ++at;
  if (at < words.size() && words[at] == "serve") ++at;
  while (at < words.size()) {
    if (!is_flag(words[at])) {
      importer.skip_word(words[at++]);
      continue;
    }
    if (words[at].find_first_not_of('-') == std::string::npos) {
      ++at;  // a lone `--`
      continue;
    }
    if (auto error = importer.take(take_flag(words, at))) return *error;
  }
  return importer.finish();
}

}  // namespace pinfold::sim
