// `ask` and `tell`: a search whose trials are evaluated by whoever asks for them, call by call or
// over lines of JSON. The calls go to the process that runs the study; where none does, they open
// it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "cli/search_setup.h"
#include "cli/settings.h"
#include "core/json_numbers.h"
#include "core/json_text.h"
#include "core/table.h"
#include "scheduler/run/ask_session.h"

namespace detol::inline cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestLine = std::size_t{7} << 20;  // bytes; a message has at most 8 MB

// Returns the settings of a session with the study that the arguments name or describe.
Result<AskSessionSettings> session_from(const Arguments& arguments, bool serves) {
  DETOL_ASSIGN(const auto budget, parse_budget_change(arguments.text("budget")));
  AskSessionSettings settings{.storage = arguments.globals.storage,
                              .study = arguments.text("STUDY"),
                              .budget = budget,
                              .serves = serves,
                              .if_exists = if_exists_from(arguments, "resume"),
                              .retry_failed = arguments.has("retry-failed")};
  DETOL_TRY(check_path("--storage", std::filesystem::absolute(settings.storage).string()));
  if (has_space(arguments)) {
    const std::string name = settings.study.empty() ? "study" : settings.study;
    DETOL_ASSIGN(settings.config, config_from_flags(arguments, {}, name));
    if (settings.study.empty()) settings.study = settings.config->study;
    settings.config->study = settings.study;
  } else if (settings.if_exists != IfExists::kResume) {
    return usage_error("a study is begun by its space: add --space or --param");
  } else if (settings.study.empty()) {
    return usage_error("name the study, or describe its space with --space or --param");
  }
  return settings;
}

Result<void> print_json(const Json& answer) {
  return print_data(compact(answer) + "\n");
}

// Returns the answer to a call, as JSON. Errors: those of the answer (kUsage).
Result<Json> answer_to(AskSession& session, const Json& call) {
  DETOL_ASSIGN(const std::string line, session.call(compact(call)));
  DETOL_ASSIGN(Json answer, parse_json<Json>(line, "the answer"));
  if (answer.contains("error")) return fail(ErrorCode::kUsage, answer.at("error"));
  return answer;
}

// Answers lines of the standard input until it ends.
Result<int> serve(AskSession& session) {
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C is for whoever asks
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    if (line.size() > kLongestLine) {
      DETOL_TRY(print_json({{"error", "the line is too long"}}));
      continue;
    }
    const Result<std::string> answer = session.call(line);
    if (!answer) DETOL_TRY(print_json({{"error", answer.error().message}}));
    if (!answer) return tl::unexpected<Error>(answer.error());
    DETOL_TRY(print_data(*answer + "\n"));
  }
  DETOL_TRY(session.close());
  return 0;
}

Result<Json> wish_from(const std::string& params) {
  Json wish = json_or_discarded<Json>(params);
  if (wish.is_object()) return wish;
  return fail(ErrorCode::kUsage, R"(--params must be a JSON object, such as {"lr": 0.1})");
}

Result<int> run_ask(const Arguments& arguments) {
  DETOL_ASSIGN(const auto count, arguments.number("count", 1));
  const bool serves = arguments.has("serve");
  DETOL_ASSIGN(AskSessionSettings settings, session_from(arguments, serves));
  DETOL_ASSIGN(const auto session, AskSession::open(std::move(settings)));
  if (serves) return serve(*session);
  Json call = {{"ask", count.value_or(1)}};
  if (arguments.has("params")) {
    DETOL_ASSIGN(call["params"], wish_from(arguments.text("params")));
  }
  DETOL_ASSIGN(const Json answer, answer_to(*session, call));
  DETOL_TRY(session->close());
  const Json& trials = answer.at("trials");
  if (trials.empty())
    return fail(ErrorCode::kEmpty,
                answer.value("none", std::string("the searcher waits for the values of trials that "
                                                 "were asked for; tell them first")));
  DETOL_TRY(print_json(count ? trials : trials.front()));
  return 0;
}

// Returns a number, or the word for one that is not finite.
Result<Json> told_number(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const char* begin = text.data() + (text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
  const auto [next, error] = std::from_chars(begin, end, number);
  if (error == std::errc::result_out_of_range && next == end)
    return usage_error(
        "{} is beyond what a number holds, 5e-324 to 1.8e308; say 0, inf or --failed",
        in_quotes(text));
  if (error != std::errc() || next != end)
    return usage_error("{} is not a number", in_quotes(text));
  return json_number<Json>(number);
}

// Returns the values of --values.
Result<Json> told_values(const std::string& text) {
  Json values = json_or_discarded<Json>(text);
  if (values.is_object() || values.is_array()) return values;
  return fail(ErrorCode::kUsage, R"(--values must be JSON, such as {"loss": 0.3, "size": 5})");
}

// Returns what a tell says: exactly one of its options.
Result<Json> told_from(const Arguments& arguments) {
  constexpr std::array kOptions = {"value", "values", "failed", "pruned", "release"};
  if (std::ranges::count_if(kOptions, [&](const char* key) { return arguments.has(key); }) != 1)
    return usage_error("say one of --value, --values, --failed, --pruned and --release");
  Json call;
  if (arguments.has("value")) {
    DETOL_ASSIGN(call["values"], told_number(arguments.text("value")));
  } else if (arguments.has("values")) {
    DETOL_ASSIGN(call["values"], told_values(arguments.text("values")));
  } else if (arguments.has("failed")) {
    call["failed"] = arguments.text("failed");
  } else {
    call[arguments.has("pruned") ? "pruned" : "released"] = true;
  }
  return call;
}

Result<int> run_tell(const Arguments& arguments) {
  DETOL_ASSIGN(const auto trial, arguments.number("ID", 0));
  DETOL_ASSIGN(const auto step, arguments.number("step", 1));
  DETOL_ASSIGN(Json call, told_from(arguments));
  DETOL_TRY(check_path("--storage", std::filesystem::absolute(arguments.globals.storage).string()));
  if (step && !call.contains("values")) return usage_error("a --step has --value or --values");
  call[step ? "report" : "tell"] = *trial;
  if (step) call["step"] = *step;
  DETOL_ASSIGN(const auto session, AskSession::open({.storage = arguments.globals.storage,
                                                     .study = arguments.text("STUDY")}));
  DETOL_ASSIGN(const Json answer, answer_to(*session, call));
  DETOL_TRY(session->close());
  DETOL_TRY(print_json(answer));
  if (!answer.contains("ignored")) return 0;
  return fail(ErrorCode::kEmpty,
              fmt::format("trial {} ended {} before: what is told of it now changes nothing",
                          *trial, answer.at("state").get<std::string>()));
}

}  // namespace

std::vector<Command> ask_commands() {
  return {
      {.name = "ask",
       .summary = "ask a study for trials to evaluate yourself, as JSON",
       .options = with_space_options(
           {{"STUDY", "",
             "its name; with a space it is begun if there is none; default: that of --space, else "
             "study"},
            {"-n,--count", "N", "so many trials, as a list; default: one"},
            {"--params", "JSON", "a trial of this candidate; default: what the algorithm proposes"},
            {"--serve", "", "answer lines of JSON until the standard input ends"},
            {"--budget", "B",
             "stop after this much time or trials; +B adds to it; default: that of the space file, "
             "else no limit"},
            {"--algorithm", "NAME",
             "the search algorithm; default: that of the space file, else portfolio"},
            {"--pruner", "NAME",
             "early stopping of weak trials; default: that of the space file, else none"},
            one_of("--if-exists", "WHAT", "what to do when that study exists; default: resume",
                   {"fail", "resume", "new"}),
            {"--retry-failed", "", "give out trials again that crashed or timed out"},
            {"--seed", "S",
             "the seed of every random choice; default: that of the space file, else 0"},
            {"--set", "KEY=VALUE", "change a key of the space file", Option::kRepeated}}),
       .examples = "  detol ask bread --param 'oven=float(150,250)' --param 'hours=int(1,24)' "
                   "--metric taste:maximize\n"
                   "  detol tell bread 0 --value 7.5\n"
                   "  detol ask bread",
       .run = run_ask,
       .notes = search_notes},
      {.name = "tell",
       .summary = "tell a study what a trial is worth that was asked for",
       .options = {{"STUDY", "", "its name", Option::kRequired},
                   {"ID", "", "of the trial", Option::kRequired},
                   {"--value", "V", "of the one objective; nan fails the trial"},
                   {"--values", "JSON", "of all objectives and other metrics, by name"},
                   {"--step", "N", "report the values after this step; the trial goes on"},
                   {"--failed", "WHY", "it has no value"},
                   {"--pruned", "", "it was stopped early, and is worth what it reported"},
                   {"--release", "", "whoever asks next gets it"}},
       .examples = "  detol tell bread 0 --value 7.5\n"
                   "  detol tell bread 1 --values '{\"taste\": 7.5, \"price\": 3.2}'\n"
                   "  detol tell bread 2 --failed burnt",
       .run = run_tell}};
}

}  // namespace detol::inline cli
