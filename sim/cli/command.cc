// The command line is read here and nowhere else knows CLI11, whose header takes long to compile.

#include "sim/cli/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <utility>

#include "sim/cli/flag_value.h"
#include "sim/report/version.h"

namespace pinfold::sim {
namespace {

/// CLI11 prints a description as it is: broken into lines that fit beside the column of flags.
std::string wrapped(const std::string& description) {
  constexpr std::size_t kWidth = 66;
  std::string text;
  std::size_t line = 0;
  std::size_t at = 0;
  while (at < description.size()) {
    const std::size_t end = std::min(description.find(' ', at), description.size());
    const std::size_t length = end - at;
    if (line > 0 && line + 1 + length > kWidth) {
      text += '\n';
      line = 0;
    } else if (line > 0) {
      text += ' ';
      ++line;
    }
    text += description.substr(at, length);
    line += length;
    at = end + 1;
  }
  return text;
}

/// Only kMayLack is in brackets: we ask for the others ourselves, so CLI11 takes all for optional.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string name = make_option_name(option, true);
    return option->get_group() == Command::kMayLack ? "[" + name + "]" : name;
  }
};

constexpr const char* kExitCodes =
    "Exit codes: 0 ok, 1 run-time or data error, 2 usage or configuration error, or not "
    "comparable,\n"
    "            3 a check failed, stall or violation, or no capacity, 130 interrupted.";

std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// What the table of flags says of `app` and the commands below it.
void add_to_manual(CLI::App& app, const std::vector<std::string>& words, Manual& manual) {
  ManualCommand command;
  command.words = words;
  command.description = on_one_line(app.get_description());
  for (const CLI::Option* option : app.get_options()) {
    ManualFlag flag;
    for (const std::string& name : option->get_snames()) flag.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) flag.names.push_back("--" + name);
    flag.positional = flag.names.empty();
    if (flag.positional) flag.names.push_back(option->get_name(true));
    if (option->get_items_expected_max() > 0) flag.type = option->get_type_name();
    flag.description = on_one_line(option->get_description());
    command.flags.push_back(std::move(flag));
  }
  const std::size_t place = manual.commands.size();
  manual.commands.push_back(std::move(command));
  for (CLI::App* below : app.get_subcommands([](CLI::App*) { return true; })) {
    manual.commands[place].commands.push_back(below->get_name());
    std::vector<std::string> longer = words;
    longer.push_back(below->get_name());
    add_to_manual(*below, longer, manual);
  }
}

std::vector<std::string> subcommands_of(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

/// The innermost command that was named.
CLI::App& innermost(CLI::App& program) {
  CLI::App* app = &program;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

/// "pinfold trace info".
std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? "pinfold"
                                     : full_name(*app.get_parent()) + " " + app.get_name();
}

[[noreturn]] void refuse_word(CLI::App& app, const std::string& word) {
  if (word.starts_with("-")) {
    std::vector<std::string> flags;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    }
    std::string name = word.substr(0, word.find('='));
    if (name.find_first_not_of('-') == std::string::npos) name = word;
    throw UsageError{"found the unknown flag " + name + ", expected one of " + in_a_row(flags) +
                     did_you_mean(name, flags)};
  }
  const std::vector<std::string> commands = subcommands_of(app);
  if (!commands.empty()) {
    throw UsageError{"found the unknown command " + in_quotes(word) + ", expected one of " +
                     in_a_row(commands) + did_you_mean(word, commands)};
  }
  throw UsageError{"found one argument too many, " + in_quotes(word)};
}

/// What CLI11 found wrong, in our words. It is left with few things to find: all values are texts to it.
std::string translated(const CLI::ParseError& error) {
  const std::string text = error.what();  // "--config: 1 required FILE missing"
  const std::string flag = text.substr(0, text.find(':'));
  if (text.find("missing") != std::string::npos) {
    // "--config: 1 required FILE missing": what it takes stands before the last word.
    const std::size_t end = text.rfind(' ');
    const std::size_t begin = end == 0 ? 0 : text.rfind(' ', end - 1) + 1;
    return flag + ": found no value, expected " + text.substr(begin, end - begin);
  }
  if (text.find("override") != std::string::npos) {
    return text.substr(0, text.find(' ')) + ": found a value, expected none";
  }
  if (text.find("At Most") != std::string::npos)
    return flag + ": found several values, expected one";
  return text;
}

ExitCode fail_usage(CLI::App& program, const std::string& message) {
  const std::string name = full_name(innermost(program));
  return fail(std::cerr, ExitCode::kUsageError, message + "\nSee `" + name + " --help`.");
}

}  // namespace

Command::Command(CLI::App& parent, const std::string& name, const std::string& description)
    : app_(*parent.add_subcommand(name, description)) {
  app_.allow_extras();  // to name an unknown flag ourselves
}

void Command::text(const std::string& name, std::string& value, const std::string& type,
                   const std::string& description, const std::string& group) {
  CLI::Option* const option = app_.add_option(name, value, wrapped(description));
  option->type_name(type);
  if (!group.empty()) option->group(group);
}

void Command::text(const std::string& name, std::optional<std::string>& value,
                   const std::string& type, const std::string& description,
                   const std::string& group) {
  // Not its own optionals: they take an empty value for none.
  const auto take = [&value](const std::string& text) { value = text; };
  CLI::Option* const option =
      app_.add_option_function<std::string>(name, take, wrapped(description));
  option->type_name(type);
  if (!group.empty()) option->group(group);
}

void Command::texts(const std::string& name, std::vector<std::string>& values,
                    const std::string& type, const std::string& description) {
  app_.add_option(name, values, wrapped(description))->type_name(type)->allow_extra_args(false);
}

void Command::words(const std::string& name, std::vector<std::string>& values,
                    const std::string& type, const std::string& description) {
  app_.add_option(name, values, wrapped(description))->type_name(type);
}

void Command::flag(const std::string& name, bool& value, const std::string& description) {
  app_.add_flag(name, value, wrapped(description))->disable_flag_override();
}

bool Command::given(const std::string& name) const { return app_.count(name) > 0; }

std::vector<GivenFlag> Command::all_given() const {
  std::vector<GivenFlag> all;
  for (const CLI::Option* const option : std::as_const(app_).get_options()) {
    if (option->count() > 0) all.push_back({option->get_name(), option->get_group()});
  }
  return all;
}

bool Command::chosen() const { return app_.parsed(); }

CLI::App& add_group(CLI::App& parent, const std::string& name, const std::string& description) {
  CLI::App& group = *parent.add_subcommand(name, description);
  group.allow_extras();
  group.require_subcommand(0, 1);
  return group;
}

Manual manual_of(CLI::App& program) {
  Manual manual;
  manual.version = kVersion;
  manual.exit_codes = kExitCodes;
  add_to_manual(program, {}, manual);
  return manual;
}

ExitCode run_program(int argc, char** argv,
                     void (*declare)(CLI::App& program,
                                     std::vector<std::unique_ptr<Command>>& commands)) {
  CLI::App program{
      "Pinfold: a deterministic, trace-driven simulator of an LLM engine's memory allocator and "
      "scheduler.",
      "pinfold"};
  program.formatter(std::make_shared<HelpFormatter>());
  program.get_formatter()->column_width(34);
  program.allow_extras();
  program.require_subcommand(0, 1);
  program.set_version_flag("--version", std::string("pinfold ") + kVersion);
  program.footer(kExitCodes);
  std::vector<std::unique_ptr<Command>> commands;
  declare(program, commands);

  try {
    program.parse(argc, argv);
    for (CLI::App* app = &program;; app = app->get_subcommands().front()) {
      for (const std::string& word : app->remaining()) {
        if (word != "--") refuse_word(*app, word);  // "--" only ends the flags
      }
      if (app->get_subcommands().empty()) break;
    }
    for (const auto& command : commands) {
      if (command->chosen()) return command->run();
    }
    CLI::App& last = innermost(program);
    throw UsageError{"found no command, expected one of " + in_a_row(subcommands_of(last))};
  } catch (const CLI::CallForHelp&) {
    std::cout << program.help();
    return ExitCode::kOk;
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << '\n';
    return ExitCode::kOk;
  } catch (const CLI::ParseError& error) {
    return fail_usage(program, translated(error));
  } catch (const UsageError& error) {
    return fail_usage(program, error.message);
  }
}

}  // namespace pinfold::sim
