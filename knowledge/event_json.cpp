#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "knowledge/event_json_impl.h"

namespace detol {
namespace {

using Json = nlohmann::ordered_json;  // choices and metrics keep their order

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);  // never throws on bad UTF-8
}

Json number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

double number_from(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const auto& word = json.get_ref<const std::string&>();
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

Json choice(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) {
    if (!std::isfinite(*real)) return {{"float", number(*real)}};
    return *real;
  }
  return std::visit([](const auto& plain) { return Json(plain); }, value);
}

Value choice_from(const Json& json) {
  if (json.is_object()) return number_from(json.at("float"));
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  return json.get<std::string>();
}

std::string objective_name(std::span<const Objective> objectives, std::size_t index) {
  return index < objectives.size() ? objectives[index].metric : fmt::format("value_{}", index);
}

struct Encoder {
  std::span<const Objective> objectives;

  EventRow row(std::string kind, TrialId trial, int attempt, int epoch, const Json& payload) const {
    return {std::move(kind), static_cast<std::int64_t>(trial), attempt, epoch, dump(payload)};
  }

  EventRow operator()(const event::Asked& asked) const {
    Json params = Json::object();
    for (const auto& [name, value] : asked.params) params[name] = choice(value);
    return row("asked", asked.trial, 0, 0,
               {{"params", std::move(params)},
                {"proposer", asked.proposer},
                {"arch_hash", asked.arch_hash},
                {"network_params", asked.network_params},
                {"flops", asked.flops},
                {"at", number(asked.at_s)}});
  }

  EventRow operator()(const event::Started& started) const {
    return row("started", started.trial, started.attempt, 0,
               {{"worker", started.worker},
                {"at", number(started.at_s)},
                {"group_size", started.group_size},
                {"micro_batches", started.micro_batches}});
  }

  EventRow operator()(const event::Reported& reported) const {
    Json metrics = Json::object();
    for (const auto& [name, value] : reported.metrics) metrics[name] = number(value);
    return row("reported", reported.trial, reported.attempt, reported.epoch,
               {{"metrics", std::move(metrics)},
                {"work", number(reported.work)},
                {"train_s", number(reported.train_s)}});
  }

  EventRow operator()(const event::Told& told) const {
    Json payload{{"state", told.state},
                 {"failure", told.failure},
                 {"reason", told.reason},
                 {"at", number(told.at_s)}};
    if (const auto* failed = std::get_if<Failed>(&told.outcome)) {
      payload["cause"] = to_text(failed->cause);
      payload["fidelity"] = number(failed->fidelity);
      payload["work"] = number(failed->work);
    } else {
      add(payload, std::get<Measured>(told.outcome));
    }
    return row("told", told.trial, 0, 0, payload);
  }

  void add(Json& payload, const Measured& measured) const {
    Json values = Json::object();
    for (std::size_t i = 0; i < measured.values.size(); ++i)
      values[objective_name(objectives, i)] = number(measured.values[i]);
    payload["values"] = std::move(values);
    payload["fidelity"] = number(measured.fidelity);
    payload["work"] = number(measured.work);
    payload["stopped_early"] = measured.stopped_early;
  }

  EventRow operator()(const event::Requeued& requeued) const {
    return row("requeued", requeued.trial, requeued.attempt, 0, {{"reason", requeued.reason}});
  }

  EventRow operator()(const event::Refit& refit) const {
    Json parameters = Json::array();
    for (const double parameter : refit.parameters) parameters.push_back(number(parameter));
    return {"refit", -1, 0, 0,
            dump({{"model", refit.model},
                  {"version", refit.version},
                  {"observations", refit.observations},
                  {"parameters", std::move(parameters)},
                  {"at", number(refit.at_s)}})};
  }

  EventRow operator()(const event::Chosen& chosen) const {
    Json seconds = Json::object();
    for (const auto& [way, time] : chosen.seconds) seconds[way] = number(time);
    return {"chosen", -1, 0, 0,
            dump({{"key", chosen.key},
                  {"way", chosen.way},
                  {"seconds", std::move(seconds)},
                  {"at", number(chosen.at_s)}})};
  }

  EventRow operator()(const event::StudyState& changed) const {
    Json json = {
        {"state", changed.state}, {"budget", changed.budget}, {"at", number(changed.at_s)}};
    if (!changed.backend.empty()) json["backend"] = changed.backend;
    return {"state", -1, 0, 0, dump(json)};
  }

  EventRow operator()(const event::Accounted&) const { return {}; }
};

event::Asked asked_from(TrialId trial, const Json& json) {
  event::Asked asked;
  asked.trial = trial;
  for (const auto& [name, value] : json.at("params").items())
    asked.params.emplace_back(name, choice_from(value));
  asked.proposer = json.at("proposer").get<std::string>();
  asked.arch_hash = json.at("arch_hash").get<std::string>();
  asked.network_params = json.at("network_params").get<std::int64_t>();
  asked.flops = json.at("flops").get<std::int64_t>();
  asked.at_s = number_from(json.at("at"));
  return asked;
}

event::Reported reported_from(const EventRow& row, TrialId trial, const Json& json) {
  event::Reported reported{trial, row.attempt, row.epoch, {}, 0, 0};
  for (const auto& [name, value] : json.at("metrics").items())
    reported.metrics.emplace_back(name, number_from(value));
  reported.work = number_from(json.at("work"));
  reported.train_s = number_from(json.at("train_s"));
  return reported;
}

Outcome outcome_from(const Json& json) {
  const double fidelity = number_from(json.at("fidelity"));
  const double work = number_from(json.at("work"));
  if (json.contains("cause"))
    return Failed{cause_from(json.at("cause").get<std::string>()), fidelity, work};
  Measured measured{{}, fidelity, work, json.at("stopped_early").get<bool>()};
  for (const auto& [name, value] : json.at("values").items())
    measured.values.push_back(number_from(value));
  return measured;
}

event::Told told_from(TrialId trial, const Json& json) {
  return {trial,
          json.at("state").get<std::string>(),
          json.at("failure").get<std::string>(),
          json.at("reason").get<std::string>(),
          outcome_from(json),
          number_from(json.at("at"))};
}

event::Refit refit_from(const Json& json) {
  event::Refit refit;
  refit.model = json.at("model").get<std::string>();
  refit.version = json.at("version").get<std::uint64_t>();
  refit.observations = json.at("observations").get<std::uint64_t>();
  for (const Json& parameter : json.at("parameters"))
    refit.parameters.push_back(number_from(parameter));
  refit.at_s = number_from(json.at("at"));
  return refit;
}

event::Chosen chosen_from(const Json& json) {
  event::Chosen chosen{json.at("key").get<std::string>(),
                       json.at("way").get<std::string>(),
                       {},
                       number_from(json.at("at"))};
  for (const auto& [way, time] : json.at("seconds").items())
    chosen.seconds.emplace_back(way, number_from(time));
  return chosen;
}

// Throws Json::exception on a payload of another shape.
Event parse(const EventRow& row) {
  const Json json = Json::parse(row.payload);
  const auto trial = static_cast<TrialId>(row.trial);
  const auto word = [&json](const char* key) { return json.at(key).get<std::string>(); };
  if (row.kind == "asked") return asked_from(trial, json);
  if (row.kind == "started") {
    return event::Started{trial,
                          row.attempt,
                          word("worker"),
                          number_from(json.at("at")),
                          json.value("group_size", 1),
                          json.value("micro_batches", 1)};
  }
  if (row.kind == "reported") return reported_from(row, trial, json);
  if (row.kind == "told") return told_from(trial, json);
  if (row.kind == "requeued") return event::Requeued{trial, row.attempt, word("reason")};
  if (row.kind == "refit") return refit_from(json);
  if (row.kind == "chosen") return chosen_from(json);
  return event::StudyState{word("state"), word("budget"), number_from(json.at("at")),
                           json.value("backend", "")};
}

}  // namespace

EventRow to_row(const Event& event, std::span<const Objective> objectives) {
  return std::visit(Encoder{objectives}, event);
}

Result<Event> to_event(const EventRow& row) {
  try {
    return parse(row);
  } catch (const Json::exception& error) {
    return fail(ErrorCode::kStorage, fmt::format("a malformed '{}' event: {}", row.kind,
                                                 std::string_view(error.what())));
  }
}

std::string to_json(std::span<const Objective> objectives) {
  Json list = Json::array();
  for (const Objective& objective : objectives) {
    const bool least = objective.direction == Direction::kMinimize;
    list.push_back({{"metric", objective.metric}, {"direction", least ? "minimize" : "maximize"}});
  }
  return dump(list);
}

Result<std::vector<Objective>> objectives_from(std::string_view text) {
  try {
    std::vector<Objective> objectives;
    for (const Json& item : Json::parse(text)) {
      const auto metric = item.at("metric").get<std::string>();
      objectives.push_back(item.at("direction") == "minimize" ? minimize(metric)
                                                              : maximize(metric));
    }
    return objectives;
  } catch (const Json::exception& error) {
    return fail(ErrorCode::kStorage,
                fmt::format("malformed objectives: {}", std::string_view(error.what())));
  }
}

}  // namespace detol
