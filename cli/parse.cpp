#include "cli/parse.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <map>
#include <span>
#include <sstream>

#include "cli/settings.h"
#include "core/home.h"
#include "core/log.h"
#include "core/table.h"
#include "core/terminal.h"
#include "core/utf8.h"

namespace detol::inline cli {
namespace {

// Slot: an option of the table and the words that CLI11 stores for it. Slots are in a std::list,
// since CLI11 keeps their addresses.
struct Slot {
  const Option* option;
  CLI::Option* parsed;
  std::vector<std::string> words;
};

constexpr std::string_view kProgram = "COMMAND";  // the option of words behind "--"

// Returns whether the words call a command that takes a program.
bool takes_program(const std::vector<std::string>& words) {
  const Command* command = nullptr;
  for (const std::string& word : words) {
    if (command == nullptr) command = find_row(commands(), word);
  }
  return command != nullptr &&
         std::ranges::find(command->options, kProgram, &Option::name) != command->options.end();
}

// Breaks the help of an option into lines that end at column 80; CLI11 indents them by 30.
std::string wrapped(const std::string& text) {
  constexpr std::size_t kWidth = 50;
  std::string lines;
  std::size_t length = 0;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool is_full = length > 0 && length + 1 + word.size() > kWidth;
    if (!lines.empty()) lines += is_full ? '\n' : ' ';
    length = is_full ? word.size() : length + word.size() + (length > 0 ? 1 : 0);
    lines += word;
  }
  return lines;
}

void add_option(CLI::App& app, const Option& option, std::list<Slot>& slots) {
  Slot& slot = slots.emplace_back(Slot{&option, nullptr, {}});
  std::string text(option.help);
  if (!option.words.empty()) text += fmt::format(" ({})", fmt::join(option.words, ", "));
  const std::string help = wrapped(text);  // const: CLI11 would bind a mutable one as a variable
  if (option.is_switch()) {
    slot.parsed = app.add_flag(std::string(option.name), help);
    return;
  }
  const bool repeated = option.is_list() || option.arity == Option::kRepeated;
  slot.parsed = app.add_option(std::string(option.name), slot.words, help);
  const bool is_list = option.is_list() || (repeated && option.is_positional());
  slot.parsed->expected(1, is_list ? CLI::detail::expected_max_vector_size : 1)
      ->allow_extra_args(is_list)
      ->type_name(std::string(option.value.substr(0, option.value.find("..."))))  // adds its own
      ->multi_option_policy(repeated ? CLI::MultiOptionPolicy::TakeAll
                                     : CLI::MultiOptionPolicy::TakeLast);
}

std::string footer_of(const Command& command) {
  std::string text;
  if (command.notes != nullptr) text += command.notes() + "\n";
  if (!command.examples.empty()) text += fmt::format("Examples:\n{}\n", command.examples);
  return text + "Global options: detol --help";
}

std::vector<std::string_view> names_of_options(const Command& command) {
  std::vector<std::string_view> names;
  for (const auto& options : {std::span<const Option>(command.options), global_options()}) {
    for (const Option& option : options) {
      if (!option.is_positional()) names.push_back(option.name.substr(option.name.find("--")));
    }
  }
  return names;
}

// Returns "; did you mean --space cnn?" for the name of a space where a command takes one; else "".
std::string space_hint(const Command& command, const std::string& word) {
  const bool takes_space =
      std::ranges::find(command.options, "--space", &Option::name) != command.options.end();
  const bool is_space =
      word.ends_with(".yaml") || word.ends_with(".yml") || find_space(word) != word;
  return takes_space && is_space ? fmt::format("; did you mean --space {}?", printable(word)) : "";
}

tl::unexpected<Error> unexpected_word(const Command& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::string message;
  if (word.starts_with("-")) {
    message = fmt::format("{} has no option {}", command.name, in_quotes(name));
    const std::vector<std::string_view> known = names_of_options(command);
    if (const auto instead = said_here("option", name, known); !instead.empty())
      message += fmt::format("; write {}", instead);
    else if (const auto guess = did_you_mean(name, known))
      message += fmt::format("; did you mean '{}'?", *guess);
  } else {
    message = fmt::format("unexpected argument {}{}", in_quotes(word), space_hint(command, word));
  }
  return fail(ErrorCode::kUsage, fmt::format("{} (detol {} --help)", message, command.name));
}

// Returns "--top needs a value: the best N, as a list" for an option at the end of the words.
tl::unexpected<Error> without_value(std::string_view name) {
  for (const Command& command : commands()) {
    for (const auto& options : {std::span<const Option>(command.options), global_options()}) {
      for (const Option& option : options) {
        if (option.is_positional() || !option.name.ends_with(name)) continue;
        return fail(ErrorCode::kUsage, fmt::format("{} needs a value, {}: {} (detol --help)", name,
                                                   option.value, option.help));
      }
    }
  }
  return fail(ErrorCode::kUsage, fmt::format("{} needs a value (detol --help)", name));
}

// Adds the given words to `arguments`, after checking them against those that an option accepts.
Result<void> collect(const std::list<Slot>& slots, Arguments& arguments) {
  for (const Slot& slot : slots) {
    const Option& option = *slot.option;
    if (slot.parsed->count() == 0) {
      if (option.arity != Option::kRequired) continue;
      return fail(ErrorCode::kUsage, fmt::format("the {} {} is missing: {}",
                                                 option.is_positional() ? "argument" : "option",
                                                 option.name, option.help));
    }
    std::vector<std::string> words = slot.words;
    for (std::string& word : words) {
      const auto& known = option.words;
      if (known.empty()) continue;
      const auto same = std::ranges::find_if(
          known, [&](std::string_view one) { return same_but_for_case(one, word); });
      if (same == known.end())
        return fail(ErrorCode::kUsage,
                    fmt::format("{}: {}", option.name.substr(option.name.find(',') + 1),
                                unknown_name("value", word, known)));
      word = *same;
    }
    arguments.given.emplace(option.key(), std::move(words));
  }
  return {};
}

Result<void> apply_globals(Arguments& arguments) {
  Globals& globals = arguments.globals;
  const char* storage = std::getenv("DETOL_STORAGE");  // NOLINT(concurrency-mt-unsafe)
  globals.storage = arguments.text("storage", storage != nullptr ? storage : "detol.db");
  if (globals.storage.empty()) return fail(ErrorCode::kUsage, "--storage is empty");
  std::error_code ignored;
  if (!std::filesystem::exists(globals.storage, ignored))
    globals.storage = at_home(globals.storage).string();
  DETOL_TRY(check_path("--storage", globals.storage));
  const std::string format = arguments.text("format", "table");
  globals.format = format == "json"    ? Format::kJson
                   : format == "jsonl" ? Format::kJsonl
                   : format == "csv"   ? Format::kCsv
                                       : Format::kTable;
  globals.color = wants_color(arguments.text("color", "auto"), STDOUT_FILENO);
  if (::isatty(STDOUT_FILENO) == 1) globals.width = screen_at(STDOUT_FILENO, false).columns;
  std::istringstream columns(arguments.text("columns"));
  for (std::string name; std::getline(columns, name, ',');) globals.columns.push_back(name);
  globals.quiet = arguments.has("quiet");
  LogOptions& log = globals.log;
  log.file = arguments.text("log-file");
  DETOL_TRY(check_path("--log-file", log.file));
  if (globals.quiet) log.level = LogLevel::kWarning;
  if (arguments.has("verbose") || arguments.has("debug")) log.level = LogLevel::kDebug;
  return set_up_log(log);
}

Call to_print(std::string text) {
  Call call;
  call.text = std::move(text);
  return call;
}

// Parser: the program as a CLI11 app with one subcommand per command.
class Parser {
 public:
  Parser() {
    app_.require_subcommand(0, 1);
    app_.allow_extras();
    app_.set_version_flag("--version", "detol " DETOL_VERSION);
    for (const Option& option : global_options()) add_option(app_, option, global_slots_);
    for (const Command& command : commands()) add(command);
    app_.footer(
        "Examples:\n  detol search --space configs/cnn.yaml --budget 10cpu-min\n"
        "  detol best fashion-cnn -f json\n  detol search --help");
  }

  // `behind`: the words behind "--", for a command that takes a program; else they are in `words`.
  Result<Call> parse(const std::vector<std::string>& words, std::span<const std::string> behind) {
    try {
      app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::Success&) {
      return to_print(text_for(words));
    } catch (const CLI::ArgumentMismatch& error) {
      const std::string_view text = error.what();
      return without_value(text.substr(0, text.find(':')));
    } catch (const CLI::ParseError& error) {
      return fail(ErrorCode::kUsage, fmt::format("{} (detol --help)", error.what()));
    }
    const CLI::App* const chosen = chosen_app();
    if (chosen == &app_) return without_command();
    if (const CommandGroup* group = find_row(command_groups(), chosen->get_name()))
      return without_second_word(*group);
    const std::size_t row = index_of(chosen);
    const Command& command = commands()[row];
    std::vector<std::string> extras = app_.remaining(true);
    std::erase(extras, "--");  // the words after it are no options
    if (!extras.empty()) return unexpected_word(command, extras.front());
    Call call;
    call.command = &command;
    DETOL_TRY(collect(global_slots_, call.arguments));
    DETOL_TRY(collect(slots_[row], call.arguments));
    if (!behind.empty())
      call.arguments.given[std::string(kProgram)].assign(behind.begin(), behind.end());
    DETOL_TRY(apply_globals(call.arguments));
    return call;
  }

 private:
  void add(const Command& command) {
    const std::size_t space = command.name.find(' ');
    CLI::App& above = space == std::string_view::npos ? app_ : group(command.name.substr(0, space));
    CLI::App* sub = above.add_subcommand(std::string(command.name.substr(space + 1)),
                                         std::string(command.summary));
    sub->fallthrough()->allow_extras();
    sub->footer("");  // replaces the inherited one
    sub->footer([&command] { return footer_of(command); });
    auto& slots = slots_.emplace_back();
    for (const Option& option : command.options) add_option(*sub, option, slots);
    subcommands_.push_back(sub);
  }

  // Returns the app of a group, which is created at its first command.
  CLI::App& group(std::string_view name) {
    CLI::App*& made = groups_[name];
    if (made != nullptr) return *made;
    const CommandGroup& row = *find_row(command_groups(), name);
    made = app_.add_subcommand(std::string(name), std::string(row.summary));
    made->require_subcommand(0, 1)->fallthrough()->allow_extras();
    made->footer(fmt::format("Run `detol {} COMMAND --help` for details.", name));
    return *made;
  }

  // Returns the app of the command, of a group without its second word, or of the program.
  const CLI::App* chosen_app() const {
    const CLI::App* app = &app_;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
    return app;
  }

  std::size_t index_of(const CLI::App* sub) const {
    return static_cast<std::size_t>(std::find(subcommands_.begin(), subcommands_.end(), sub) -
                                    subcommands_.begin());
  }

  std::string text_for(const std::vector<std::string>& words) const {
    if (std::find(words.begin(), words.end(), "--version") != words.end())
      return "detol " DETOL_VERSION "\n";
    mark_required();
    return app_.help();  // the chosen command's, if any
  }

  // CLI11 knows only now, for the help, what must be given: collect() has better messages.
  void mark_required() const {
    for (const std::list<Slot>& slots : slots_) {
      for (const Slot& slot : slots) slot.parsed->required(slot.option->arity == Option::kRequired);
    }
  }

  Result<Call> without_command() const {
    const std::vector<std::string> extras = app_.remaining();
    if (extras.empty()) return to_print(app_.help());
    if (extras.front().starts_with('-'))
      return fail(ErrorCode::kUsage,
                  fmt::format("unknown option '{}' (detol --help)", extras.front()));
    return fail(ErrorCode::kUsage, unknown_name("command", extras.front(), first_words()));
  }

  Result<Call> without_second_word(const CommandGroup& group) const {
    const std::vector<std::string> extras = app_.remaining(true);
    if (extras.empty()) return to_print(app_.help());
    const std::string what = fmt::format("{} command", group.name);
    return fail(ErrorCode::kUsage, unknown_name(what, extras.front(), words_of(group)));
  }

  CLI::App app_{"Searches neural network architectures and hyperparameters.", "detol"};
  std::list<Slot> global_slots_;
  std::vector<std::list<Slot>> slots_;
  std::vector<CLI::App*> subcommands_;  // by row of commands()
  std::map<std::string_view, CLI::App*> groups_;
};

}  // namespace

Result<Call> parse(const std::vector<std::string>& words) {
  const auto dashes = std::ranges::find(words, "--");
  if (dashes == words.end() || !takes_program(words)) return Parser().parse(words, {});
  return Parser().parse(
      {words.begin(), dashes},
      std::span(words).subspan(static_cast<std::size_t>(dashes - words.begin()) + 1));
}

}  // namespace detol::inline cli
