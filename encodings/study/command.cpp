#include "encodings/study/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <optional>

#include "core/table.h"

namespace detol::inline encoding {
namespace {

constexpr std::array kStopSignals = {StopSignalRow{"TERM", SIGTERM}, StopSignalRow{"INT", SIGINT},
                                     StopSignalRow{"HUP", SIGHUP}, StopSignalRow{"USR1", SIGUSR1},
                                     StopSignalRow{"USR2", SIGUSR2}};

constexpr std::array<std::string_view, 6> kPlaceholders = {
    "study", "seed", "trial.id", "trial.dir", "trial.checkpoint", "budget.epochs"};

// Part: a piece of an argument, literal text or a placeholder's name.
struct Part {
  std::string text;
  bool is_placeholder = false;
};

// Splits an argument. Errors (kInput): a brace without its partner.
Result<std::vector<Part>> parts_of(std::string_view argument) {
  std::vector<Part> parts;
  std::string literal;
  for (std::size_t at = 0; at < argument.size(); ++at) {
    const char c = argument[at];
    if (c != '{' && c != '}') {
      literal += c;
      continue;
    }
    if (at + 1 < argument.size() && argument[at + 1] == c) {
      literal += c;
      ++at;
      continue;
    }
    const std::size_t end = c == '{' ? argument.find('}', at) : std::string_view::npos;
    if (end == std::string_view::npos)
      return fail(ErrorCode::kInput, fmt::format("a brace without its partner in {}; write {{{{ or "
                                                 "}}}} for a brace",
                                                 in_quotes(argument)));
    parts.push_back({std::exchange(literal, {})});
    parts.push_back({std::string(argument.substr(at + 1, end - at - 1)), true});
    at = end;
  }
  parts.push_back({literal});
  return parts;
}

}  // namespace

std::span<const StopSignalRow> stop_signals() {
  return kStopSignals;
}

std::span<const std::string_view> trial_placeholders() {
  return kPlaceholders;
}

std::vector<std::string> filled_in(std::span<const std::string> arguments,
                                   const std::map<std::string, std::string, std::less<>>& texts) {
  std::vector<std::string> filled;
  bool follows_plain_option = false;
  for (const std::string& argument : arguments) {
    std::string text;
    bool is_active = true, is_plain = true;
    for (const Part& part : parts_of(argument).value_or(std::vector<Part>())) {
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

Result<void> check_placeholders(std::string_view argument,
                                std::span<const std::string_view> parameters) {
  DETOL_ASSIGN(const std::vector<Part> parts, parts_of(argument));
  std::vector<std::string_view> known(parameters.begin(), parameters.end());
  known.insert(known.end(), kPlaceholders.begin(), kPlaceholders.end());
  for (const Part& part : parts) {
    if (part.is_placeholder && std::ranges::find(known, part.text) == known.end())
      return fail(ErrorCode::kInput,
                  unknown_name("placeholder", part.text, known) + "; write {{ and }} for braces");
  }
  return {};
}

}  // namespace detol::inline encoding
