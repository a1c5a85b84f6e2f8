#include "sim/cli/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "sim/config/option.h"

namespace pinfold::sim {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

std::string full_name(const ManualCommand& command) {
  return command.words.empty() ? "pinfold" : "pinfold " + joined(command.words, " ");
}

// --- man ------------------------------------------------------------------------------------------

/// Text that troff takes as it is.
std::string troff(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\\') {
      result += "\\e";
    } else if (letter == '-') {
      result += "\\-";
    } else if ((letter == '.' || letter == '\'') && (result.empty() || result.back() == '\n')) {
      result += "\\&";
      result += letter;
    } else {
      result += letter;
    }
  }
  return result;
}

std::string flag_names(const ManualFlag& flag) {
  std::string text;
  for (const std::string& name : flag.names) {
    text += fmt::format("{}\\fB{}\\fR", text.empty() ? "" : ", ", troff(name));
  }
  if (!flag.positional && !flag.type.empty()) text += fmt::format(" \\fI{}\\fR", troff(flag.type));
  return text;
}

std::string synopsis(const ManualCommand& command) {
  std::string text = fmt::format("\\fB{}\\fR", troff(full_name(command)));
  for (const ManualFlag& flag : command.flags) {
    if (flag.positional) text += fmt::format(" \\fI{}\\fR", troff(flag.names.front()));
  }
  return text + " [\\fIFLAGS\\fR]";
}

// --- bash -----------------------------------------------------------------------------------------

/// The words that a flag takes: "on|off", or a description that begins "text, json or csv."
std::vector<std::string> words_of(const ManualFlag& flag) {
  std::string list = flag.type;
  if (list == "FORMAT") {
    list = flag.description.substr(0, flag.description.find('.'));
    for (const std::string_view between : {", ", " or "}) {
      for (std::size_t at = 0; (at = list.find(between)) != std::string::npos;) {
        list.replace(at, between.size(), "|");
      }
    }
  } else if (list.find('|') == std::string::npos) {
    return {};
  }
  if (list.find_first_not_of("abcdefghijklmnopqrstuvwxyz|") != std::string::npos) return {};
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find('|', at), list.size());
    words.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// What completes a value of this type; empty: nothing.
std::string completion_of(const ManualFlag& flag) {
  const std::vector<std::string> words = words_of(flag);
  if (!words.empty()) return fmt::format("_pinfold_words \"{}\"", joined(words, " "));
  if (flag.type.starts_with("KEY=")) return "_pinfold_keys";
  if (flag.type == "DIR") return "_pinfold_directories";
  return flag.type == "FILE" || flag.type == "RUN" ? "_pinfold_files" : "";
}

std::string completion_case(const ManualCommand& command) {
  std::vector<std::string> flags;
  std::string values;
  bool files = false;
  for (const ManualFlag& flag : command.flags) {
    files = files || flag.positional;
    if (flag.positional) continue;
    flags.insert(flags.end(), flag.names.begin(), flag.names.end());
    if (flag.type.empty()) continue;
    const std::string completion = completion_of(flag);
    values += fmt::format("        {}) {}return ;;\n", joined(flag.names, "|"),
                          completion.empty() ? "" : completion + "; ");
  }
  std::string text = fmt::format("    \"{}\")\n", joined(command.words, " "));
  if (!values.empty()) {
    text += "      case \"$previous\" in\n" + values + "      esac\n";
  }
  text += fmt::format(
      "      _pinfold_words \"{}\"\n",
      joined(command.commands, " ") + (command.commands.empty() ? "" : " ") + joined(flags, " "));
  if (files) text += "      [[ $current != -* ]] && _pinfold_files\n";
  return text + "      ;;\n";
}

}  // namespace

std::string manual_page(const Manual& manual) {
  const ManualCommand& program = manual.commands.front();
  std::string text = fmt::format(
      ".\\\" Made by `pinfold schema --format man`.\n.TH PINFOLD 1 \"\" \"pinfold {}\"\n.SH "
      "NAME\npinfold "
      "\\- {}\n.SH SYNOPSIS\n\\fBpinfold\\fR \\fICOMMAND\\fR [\\fIFLAGS\\fR]\n",
      manual.version, troff(program.description));
  text += ".SH COMMANDS\n";
  for (const ManualCommand& command : manual.commands) {
    if (&command == &program) continue;
    text += fmt::format(".SS {}\n{}\n.PP\n{}\n", troff(full_name(command)), synopsis(command),
                        troff(command.description));
    for (const ManualFlag& flag : command.flags) {
      text += fmt::format(".TP\n{}\n{}\n", flag_names(flag), troff(flag.description));
    }
  }
  text += fmt::format(".SH EXIT STATUS\n.nf\n{}\n.fi\n", troff(manual.exit_codes));
  text +=
      ".SH ENVIRONMENT\n.TP\n\\fBGITHUB_STEP_SUMMARY\\fR\nThe file to which \\fBpinfold check "
      "\\-\\-format github\\fR appends its report.\n";
  return text;
}

std::string bash_completion(const Manual& manual) {
  std::vector<std::string> keys;
  for (const Option& option : all_options()) keys.emplace_back(option.path);
  std::vector<std::string> groups;  // commands that have commands
  for (const ManualCommand& command : manual.commands) {
    if (!command.words.empty() && !command.commands.empty()) {
      groups.push_back(joined(command.words, " "));
    }
  }
  std::string text =
      "# Completion for bash, made by `pinfold schema --format bash`.\n"
      "# shellcheck shell=bash disable=SC2043,SC2207\n\n"
      "_pinfold_words() { COMPREPLY+=($(compgen -W \"$1\" -- \"$current\")); }\n"
      "_pinfold_files() {\n  compopt -o filenames 2>/dev/null\n"
      "  COMPREPLY+=($(compgen -f -- \"$current\"))\n}\n"
      "_pinfold_directories() {\n  compopt -o filenames 2>/dev/null\n"
      "  COMPREPLY+=($(compgen -d -- \"$current\"))\n}\n";
  text += fmt::format(
      "_pinfold_keys() {{\n  compopt -o nospace 2>/dev/null\n"
      "  COMPREPLY+=($(compgen -S = -W \"{}\" -- \"$current\"))\n}}\n\n",
      joined(keys, " "));
  text += fmt::format(
      "_pinfold() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" previous=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  local command=\"\" place\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD > 1)); then\n"
      "    command=\"${{COMP_WORDS[1]}}\"\n"
      "    for place in {}; do\n"
      "      [[ $command == \"$place\" ]] && ((COMP_CWORD > 2)) && command+=\" "
      "${{COMP_WORDS[2]}}\"\n"
      "    done\n"
      "  fi\n"
      "  case \"$command\" in\n",
      joined(groups, " "));
  for (const ManualCommand& command : manual.commands) text += completion_case(command);
  return text + "  esac\n}\n\ncomplete -F _pinfold pinfold\n";
}

}  // namespace pinfold::sim
