#include "command_line/parse.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <list>
#include <map>
#include <span>
#include <sstream>

#include "core/table.h"

namespace detol::inline command_line {
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
bool takes_program(const CommandTable& table, const std::vector<std::string>& words) {
  const Command* command = nullptr;
  for (const std::string& word : words) {
    if (command == nullptr) command = find_row(table.commands, word);
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

tl::unexpected<Error> unexpected_word(const Command& command, const std::string& word,
                                      std::span<const std::string_view> known, WordHint hint) {
  const std::string name = word.substr(0, word.find('='));
  std::string message;
  if (word.starts_with("-")) {
    message = fmt::format("{} has no option {}", command.name, in_quotes(name));
    if (const auto instead = said_here("option", name, known); !instead.empty())
      message += fmt::format("; write {}", instead);
    else if (const auto guess = did_you_mean(name, known))
      message += fmt::format("; did you mean '{}'?", *guess);
  } else {
    message = fmt::format("unexpected argument {}{}", in_quotes(word), hint(command, word));
  }
  return usage_error("{} (detol {} --help)", message, command.name);
}

// Returns "--top needs a value: the best N, as a list" for an option at the end of the words.
tl::unexpected<Error> without_value(const CommandTable& table, std::string_view name) {
  for (const Command& command : table.commands) {
    for (const auto& options : {std::span<const Option>(command.options), table.globals}) {
      for (const Option& option : options) {
        if (option.is_positional() || !option.name.ends_with(name)) continue;
        return usage_error("{} needs a value, {}: {} (detol --help)", name, option.value,
                           option.help);
      }
    }
  }
  return usage_error("{} needs a value (detol --help)", name);
}

// Adds the given words to `arguments`, after checking them against those that an option accepts.
Result<void> collect(const std::list<Slot>& slots, Arguments& arguments) {
  for (const Slot& slot : slots) {
    const Option& option = *slot.option;
    if (slot.parsed->count() == 0) {
      if (option.arity != Option::kRequired) continue;
      return usage_error("the {} {} is missing: {}", option.is_positional() ? "argument" : "option",
                         option.name, option.help);
    }
    std::vector<std::string> words = slot.words;
    for (std::string& word : words) {
      const auto& known = option.words;
      if (known.empty()) continue;
      const auto same = std::ranges::find_if(
          known, [&](std::string_view one) { return same_but_for_case(one, word); });
      if (same == known.end())
        return usage_error("{}: {}", option.name.substr(option.name.find(',') + 1),
                           unknown_name("value", word, known));
      word = *same;
    }
    arguments.given.emplace(option.key(), std::move(words));
  }
  return {};
}

// Parser: the program as a CLI11 app with one subcommand per command.
class Parser {
 public:
  Parser(const CommandTable& table, WordHint hint) : table_(table), hint_(hint) {
    app_.require_subcommand(0, 1);
    app_.allow_extras();
    app_.set_version_flag("--version", "detol " DETOL_VERSION);
    for (const Option& option : table.globals) add_option(app_, option, global_slots_);
    for (const Command& command : table.commands) add(command);
    app_.footer(
        "Examples:\n  detol search --space configs/cnn.yaml --budget 10cpu-min\n"
        "  detol best fashion-cnn -f json\n  detol search --help");
  }

  // `behind`: the words behind "--", for a command that takes a program; else they are in `words`.
  Result<Call> parse(const std::vector<std::string>& words, std::span<const std::string> behind) {
    try {
      app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::Success&) {
      return Call{.text = text_for(words)};
    } catch (const CLI::ArgumentMismatch& error) {
      const std::string_view text = error.what();
      return without_value(table_, text.substr(0, text.find(':')));
    } catch (const CLI::ParseError& error) {
      return usage_error("{} (detol --help)", error.what());
    }
    const CLI::App* const chosen = chosen_app();
    if (chosen == &app_) return without_command();
    if (const CommandGroup* group = find_row(table_.groups, chosen->get_name()))
      return without_second_word(*group);
    const std::size_t row = index_of(chosen);
    const Command& command = table_.commands[row];
    std::vector<std::string> extras = app_.remaining(true);
    std::erase(extras, "--");  // the words after it are no options
    if (!extras.empty())
      return unexpected_word(command, extras.front(), flags_of(table_, command), hint_);
    Call call;
    call.command = &command;
    DETOL_TRY(collect(global_slots_, call.arguments));
    DETOL_TRY(collect(slots_[row], call.arguments));
    if (!behind.empty())
      call.arguments.given[std::string(kProgram)].assign(behind.begin(), behind.end());
    return call;
  }

 private:
  void add(const Command& command) {
    const auto [first, second] = words_of(command);
    CLI::App& above = second.empty() ? app_ : group(first);
    CLI::App* sub = above.add_subcommand(std::string(second.empty() ? first : second),
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
    const CommandGroup& row = *find_row(table_.groups, name);
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
    if (extras.empty()) return Call{.text = app_.help()};
    if (extras.front().starts_with('-'))
      return usage_error("unknown option '{}' (detol --help)", extras.front());
    return fail(ErrorCode::kUsage, unknown_name("command", extras.front(), first_words(table_)));
  }

  Result<Call> without_second_word(const CommandGroup& group) const {
    const std::vector<std::string> extras = app_.remaining(true);
    if (extras.empty()) return Call{.text = app_.help()};
    const std::string what = fmt::format("{} command", group.name);
    return fail(ErrorCode::kUsage, unknown_name(what, extras.front(), words_of(table_, group)));
  }

  const CommandTable& table_;
  const WordHint hint_;
  CLI::App app_{"Searches neural network architectures and hyperparameters.", "detol"};
  std::list<Slot> global_slots_;
  std::vector<std::list<Slot>> slots_;
  std::vector<CLI::App*> subcommands_;  // by row of commands()
  std::map<std::string_view, CLI::App*> groups_;
};

}  // namespace

Result<Call> parse(const CommandTable& table, const std::vector<std::string>& words,
                   WordHint hint) {
  Parser parser(table, hint);
  const auto dashes = std::ranges::find(words, "--");
  if (dashes == words.end() || !takes_program(table, words)) return parser.parse(words, {});
  return parser.parse({words.begin(), dashes}, {dashes + 1, words.end()});
}

}  // namespace detol::inline command_line
