#include "encodings/study/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <utility>

#include "core/table.h"

namespace detol::inline encoding {
namespace {

constexpr std::array kStopSignals = {StopSignalRow{"TERM", SIGTERM}, StopSignalRow{"INT", SIGINT},
                                     StopSignalRow{"HUP", SIGHUP}, StopSignalRow{"USR1", SIGUSR1},
                                     StopSignalRow{"USR2", SIGUSR2}};

constexpr std::array<std::string_view, 7> kPlaceholders = {
    "study", "seed", "trial.id", "trial.dir", "trial.checkpoint", "budget.epochs", "ranks"};

// Part: a piece of an argument, literal text or a placeholder's name.
struct Part {
  std::string text;
  bool is_placeholder = false;
};

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_.-[] ").find(c) != std::string_view::npos;
}

// Returns the name at the beginning of a text that goes on with these braces: "lr" for "{lr}...";
// empty if there is none.
std::string_view name_in(std::string_view text, std::string_view open, std::string_view close) {
  if (!text.starts_with(open)) return {};
  const std::string_view inner = text.substr(open.size());
  const auto end =
      static_cast<std::size_t>(std::ranges::find_if_not(inner, is_of_name) - inner.begin());
  const std::string_view name = inner.substr(0, end);
  const bool is_name = !name.empty() && name.front() != ' ' && name.back() != ' ' &&
                       std::isdigit(static_cast<unsigned char>(name.front())) == 0;
  return is_name && inner.substr(end).starts_with(close) ? name : std::string_view();
}

std::vector<Part> parts_of(std::string_view argument) {
  std::vector<Part> parts;
  std::string literal;
  while (!argument.empty()) {
    if (const auto braced = name_in(argument, "{{", "}}"); !braced.empty()) {
      literal += fmt::format("{{{}}}", braced);
      argument.remove_prefix(braced.size() + 4);
    } else if (const auto name = name_in(argument, "{", "}"); !name.empty()) {
      parts.push_back({std::exchange(literal, {})});
      parts.push_back({std::string(name), true});
      argument.remove_prefix(name.size() + 2);
    } else {
      literal += argument.front();
      argument.remove_prefix(1);
    }
  }
  parts.push_back({literal});
  return parts;
}

}  // namespace

std::span<const StopSignalRow> stop_signals() {
  return kStopSignals;
}

std::vector<std::string> filled_in(std::span<const std::string> arguments,
                                   const std::map<std::string, std::string, std::less<>>& texts) {
  std::vector<std::string> filled;
  bool follows_plain_option = false;
  for (const std::string& argument : arguments) {
    std::string text;
    bool is_active = true, is_plain = true;
    for (const Part& part : parts_of(argument)) {
      const auto found = part.is_placeholder ? texts.find(part.text) : texts.end();
      is_plain = is_plain && !part.is_placeholder;
      is_active = is_active && (!part.is_placeholder || found != texts.end());
      text += part.is_placeholder && is_active ? found->second : part.text;
    }
    if (is_active)
      filled.push_back(std::move(text));
    else if (follows_plain_option)
      filled.pop_back();
    follows_plain_option = is_active && is_plain && argument.starts_with('-');
  }
  return filled;
}

bool has_placeholder(const CommandConfig& command, std::string_view name) {
  const auto has_it = [&](const std::string& argument) {
    return std::ranges::any_of(parts_of(argument), [&](const Part& part) {
      return part.is_placeholder && part.text == name;
    });
  };
  return std::ranges::any_of(command.run, has_it) || std::ranges::any_of(command.resume, has_it);
}

Result<void> check_placeholders(std::string_view argument,
                                std::span<const std::string_view> parameters) {
  std::vector<std::string_view> known(parameters.begin(), parameters.end());
  known.insert(known.end(), kPlaceholders.begin(), kPlaceholders.end());
  for (const Part& part : parts_of(argument)) {
    if (part.is_placeholder && std::ranges::find(known, part.text) == known.end())
      return fail(ErrorCode::kInput,
                  fmt::format("{}; {{{{{}}}}} stands for braces",
                              unknown_name("placeholder", part.text, known), part.text));
  }
  return {};
}

}  // namespace detol::inline encoding
