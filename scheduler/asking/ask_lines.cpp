#include "scheduler/asking/ask_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/json_numbers.h"
#include "core/json_text.h"
#include "encodings/network/layer_json.h"
#include "encodings/space/value_json.h"
#include "scheduler/best_trial.h"

namespace detol::inline scheduler {
namespace {

using Json = nlohmann::ordered_json;
using nlohmann::json;

constexpr int kMostAsked = 10'000;
constexpr int kMostSteps = 1'000'000'000;

Json error_of(const Error& error) {
  return {{"error", error.message}};
}

Json answer_of(const Result<TellAnswer>& told) {
  if (!told) return error_of(told.error());
  Json answer = {{"state", to_text(told->state)}};
  if (told->is_ignored) answer["ignored"] = true;
  return answer;
}

tl::unexpected<Error> bad(std::string what) {
  return fail(ErrorCode::kUsage, std::move(what));
}

Result<double> number_from(const json& value) {
  if (const auto number = number_in_json(value)) return *number;
  return bad(fmt::format("{} is no number", compact(value)));
}

template <typename Integer>
Result<Integer> whole(const json& call, const char* key, Integer otherwise) {
  if (!call.contains(key)) return otherwise;
  try {
    const auto number = core::whole_number<Integer>(call.at(key));
    if (number >= 0) return number;
  } catch (const json::exception&) {
  }
  return bad(fmt::format("\"{}\" must be a whole number", key));
}

// Returns the objectives that a caller tells; detol knows the others of a network.
std::vector<std::string> told_objectives(const StudyConfig& config) {
  const auto told = reported_metrics(config);
  std::vector<std::string> names;
  for (const Objective& one : config.objectives) {
    if (std::ranges::find(told, one.metric) != told.end()) names.push_back(one.metric);
  }
  return names;
}

Result<std::vector<Metric>> metrics_from(const json& values, const StudyConfig& config) {
  std::vector<Metric> metrics;
  if (values.is_object()) {
    for (const auto& [name, value] : values.items()) {
      DETOL_ASSIGN(const double number, number_from(value));
      metrics.push_back({name, number});
    }
    return metrics;
  }
  const json list = values.is_array() ? values : json::array({values});
  const std::vector<std::string> names = told_objectives(config);
  if (list.size() != names.size())
    return bad(fmt::format("{} values for {} objectives", list.size(), names.size()));
  for (std::size_t i = 0; i < list.size(); ++i) {
    DETOL_ASSIGN(const double number, number_from(list[i]));
    metrics.push_back({names[i], number});
  }
  return metrics;
}

Json params_of(const StudyConfig& config, const Genome& genome) {
  Json params = Json::object();
  const auto values = config.ends_by_itself() ? config.parameters(genome) : genome.assignments();
  for (const auto& [name, value] : values) params[name] = json_value<Json>(value);
  return params;
}

// Returns what a trial's candidate is: its parameters, and the layers of its network if it has one.
Json candidate_json(const StudyConfig& config, TrialId trial, const Genome& genome) {
  Json answer = {{"trial", trial}, {"params", params_of(config, genome)}};
  if (!config.has_networks()) return answer;
  const auto candidate = config.candidate(genome, {});
  if (candidate) answer["architecture"] = architecture_json(candidate->network);
  return answer;
}

Json json_of(const StudyConfig& config, const AskedTrial& trial) {
  Json answer = candidate_json(config, trial.trial, trial.genome);
  if (trial.known) {
    answer["state"] = to_text(*trial.known);
    return answer;
  }
  answer["attempt"] = trial.attempt;
  answer["seed"] = trial.seed % (std::uint64_t{1} << 31);  // programs that seed NumPy take 32 bits
  answer["steps"] = static_cast<int>(trial.epochs);
  answer["folder"] = trial.folder;
  return answer;
}

Result<Genome> genome_from(const json& params, const StudyConfig& config) {
  std::vector<std::pair<std::string, Value>> assignments;
  if (!params.is_object()) return bad("\"params\" must be an object");
  for (const auto& [name, value] : params.items()) {
    auto read = value_in_json(value);
    if (!read)
      return bad(fmt::format("the parameter {} must be a number, a text, true or false", name));
    assignments.emplace_back(name, *std::move(read));
  }
  return config.space.genome(assignments);
}

Result<Told> told_from(const json& call, const char* trial, const StudyConfig& config) {
  Told told;
  DETOL_ASSIGN(told.trial, whole<TrialId>(call, trial, 0));
  DETOL_ASSIGN(told.attempt, whole<int>(call, "attempt", 0));
  if (!call.contains(trial)) return bad(fmt::format("\"{}\" says which trial", trial));
  if (call.contains("failed")) {
    const json& why = call.at("failed");
    told.outcome = Told::Failure{Cause::kCrashed, why.is_string() ? why.get<std::string>() : ""};
  } else if (call.contains("pruned")) {
    told.outcome = Told::Pruned{};
  } else if (call.contains("released")) {
    told.outcome = Told::Released{};
  } else if (call.contains("values")) {
    DETOL_ASSIGN(told.outcome, metrics_from(call.at("values"), config));
  } else {
    return bad("a tell has \"values\", or \"failed\", \"pruned\" or \"released\"");
  }
  return told;
}

// Call: one line, on its way to its answer.
class Call {
 public:
  Call(Callers& callers, const StudyConfig& config, const std::string& caller, AnswerLine answer)
      : callers_(callers), config_(config), caller_(caller), answer_(std::move(answer)) {}

  void make(const json& call) {
    const bool does_both = call.contains("ask") && call.contains("tell");
    const Result<void> made = does_both                 ? tell_and_ask(call)
                              : call.contains("ask")    ? ask(call, answer_)
                              : call.contains("tell")   ? tell(call)
                              : call.contains("report") ? report(call)
                              : call.contains("have")   ? have(call.at("have"))
                              : call.contains("best")   ? best()
                              : call.contains("study")
                                  ? study()
                                  : bad("a call has one of ask, tell, report, have, best, study");
    if (!made) answer_(compact(error_of(made.error())));
  }

 private:
  Result<void> ask(const json& call, const AnswerLine& to) {
    Ask ask{.caller = caller_};
    DETOL_ASSIGN(ask.count, whole<int>(call, "ask", 1));
    ask.count = std::min(ask.count, kMostAsked);
    ask.waits = call.value("wait", json(false)) == json(true);
    if (call.contains("params")) {
      DETOL_ASSIGN(ask.wish, genome_from(call.at("params"), config_));
    }
    callers_.ask(std::move(ask), [answer = to, &config = config_](Result<AskAnswer> got) {
      if (!got) return answer(compact(error_of(got.error())));
      Json trials = Json::array();
      for (const AskedTrial& trial : got->trials) trials.push_back(json_of(config, trial));
      Json all = {{"trials", std::move(trials)}};
      if (!got->none.empty()) all["none"] = got->none;
      answer(compact(all));
    });
    return {};
  }

  Result<void> report(const json& call) {
    StepReport report;
    DETOL_ASSIGN(report.trial, whole<TrialId>(call, "report", 0));
    DETOL_ASSIGN(report.attempt, whole<int>(call, "attempt", 0));
    DETOL_ASSIGN(report.step, whole<int>(call, "step", report.step));
    if (report.step > kMostSteps) return bad(fmt::format("\"step\" is at most {}", kMostSteps));
    DETOL_ASSIGN(report.metrics, metrics_from(call.value("values", json()), config_));
    callers_.report(std::move(report), [answer = answer_](const Result<bool>& stop) {
      answer(compact(stop ? Json{{"stop", *stop}} : error_of(stop.error())));
    });
    return {};
  }

  Result<void> tell(const json& call) {
    if (call.at("tell").is_array()) return tell_all(call.at("tell"));
    DETOL_ASSIGN(Told told, told_from(call, "tell", config_));
    callers_.tell(std::move(told), [answer = answer_](const Result<TellAnswer>& answered) {
      answer(compact(answer_of(answered)));
    });
    return {};
  }

  // What was wrong with the tell, found with the ask, is "tell_error".
  Result<void> tell_and_ask(const json& call) {
    auto told = told_from(call, "tell", config_);
    const auto state = std::make_shared<Result<TellAnswer>>();
    if (told)
      callers_.tell(*std::move(told), [state](Result<TellAnswer> now) { *state = std::move(now); });
    else
      *state = tl::unexpected(told.error());
    return ask(call, [state, answer = answer_](const std::string& asked) {
      const Json said = *state ? answer_of(*state) : Json{{"tell_error", state->error().message}};
      const std::string text = compact(said);
      answer(text.substr(0, text.size() - 1) + "," + asked.substr(1));
    });
  }

  // The tells of a list become durable together, and are answered together.
  Result<void> tell_all(const json& list) {
    struct Answers {
      std::vector<Json> states;
      std::size_t missing;
    };
    const auto all =
        std::make_shared<Answers>(Answers{std::vector<Json>(list.size()), list.size()});
    const auto settle = [all, answer = answer_](std::size_t i, Json state) {
      all->states[i] = std::move(state);
      if (--all->missing == 0) answer(compact(Json{{"told", all->states}}));
    };
    if (list.empty()) answer_(compact(Json{{"told", Json::array()}}));
    std::vector<std::pair<std::size_t, Told>> calls;  // what is wrong is settled before any of them
    for (std::size_t i = 0; i < list.size(); ++i) {
      auto told = told_from(list[i], "trial", config_);
      if (told)
        calls.emplace_back(i, *std::move(told));
      else
        settle(i, error_of(told.error()));
    }
    for (auto& [i, told] : calls) {
      callers_.tell(std::move(told), [settle, i = i](const Result<TellAnswer>& answered) {
        settle(i, answer_of(answered));
      });
    }
    return {};
  }

  Result<void> have(const json& list) {
    std::vector<TrialId> trials;
    for (const json& one : list) {
      if (!one.is_number_unsigned()) return bad("\"have\" must be a list of trials");
      trials.push_back(one.get<TrialId>());
    }
    callers_.release_others(caller_, std::move(trials));
    answer_("{}");
    return {};
  }

  Result<void> best() {
    callers_.with_state([answer = answer_, &config = config_](Result<const StudyState*> state) {
      if (!state) return answer(compact(error_of(state.error())));
      const TrialRecord* best = best_trial(**state, config);
      if (best == nullptr) return answer(compact(Json{{"best", nullptr}}));
      Json values = Json::object();
      for (std::size_t i = 0; i < best->values.size(); ++i)
        values[config.objectives[i].metric] = json_number<Json>(best->values[i]);
      Json found = candidate_json(config, best->trial.id, best->trial.genome);
      found["values"] = std::move(values);
      answer(compact(Json{{"best", std::move(found)}}));
    });
    return {};
  }

  Result<void> study() {
    callers_.with_state([answer = answer_, &config = config_](Result<const StudyState*> state) {
      if (!state) return answer(compact(error_of(state.error())));
      Json objectives = Json::array();
      for (const Objective& one : config.objectives) objectives.push_back(one.metric);
      const auto& trials = (*state)->trials();
      answer(compact(Json{{"study", config.study},
                          {"objectives", std::move(objectives)},
                          {"trials", trials.size()},
                          {"finished", std::ranges::count_if(trials, &TrialRecord::is_over)},
                          {"steps", config.external ? config.external->steps : 0},
                          {"version", DETOL_VERSION}}));
    });
    return {};
  }

  Callers& callers_;
  const StudyConfig& config_;
  const std::string caller_;
  const AnswerLine answer_;
};

}  // namespace

void call(Callers& callers, const StudyConfig& config, std::string_view line,
          const std::string& caller, AnswerLine answer) {
  const auto parsed = parse_json(line, "a call is one JSON object in a line; this");
  if (!parsed) return answer(compact(error_of(parsed.error())));
  if (!parsed->is_object()) return answer(R"({"error":"a call is one JSON object in a line"})");
  if (parsed->contains("id"))
    answer = [id = compact(parsed->at("id")), answer = std::move(answer)](const std::string& text) {
      answer("{\"id\":" + id + (text == "{}" ? "}" : "," + text.substr(1)));
    };
  Call(callers, config, caller, std::move(answer)).make(*parsed);
}

}  // namespace detol::inline scheduler
