#include "knowledge/event_json.h"

#include <fmt/format.h>

#include <array>
#include <concepts>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "core/json_numbers.h"
#include "core/json_text.h"
#include "core/table.h"
#include "knowledge/choice_json_impl.h"

namespace detol::inline knowledge {
namespace {

using Json = nlohmann::ordered_json;  // choices and metrics keep their order

std::string dump(const Json& json) {
  return compact(json);  // never throws on bad UTF-8
}

std::string objective_name(std::span<const Objective> objectives, std::size_t index) {
  return index < objectives.size() ? objectives[index].metric : fmt::format("value_{}", index);
}

// The fields of each kind of event in the order in which they are written. One listing serves both
// directions: `io` is a JsonWriter or a JsonReader.
template <typename Io>
void list_fields(Io& io, event::Asked& e) {
  io.columns(e.trial);
  io("params", e.params), io("proposer", e.proposer), io("arch_hash", e.arch_hash);
  io("network_params", e.network_params), io("flops", e.flops), io("at", e.at_s);
  io.unless_default("identity", e.identity), io.unless_default("behind", e.behind),
      io.unless_default("inherits", e.inherits);
}
template <typename Io>
void list_fields(Io& io, event::Started& e) {
  io.columns(e.trial, e.attempt);
  io("worker", e.worker), io("at", e.at_s);
  io.later("group_size", e.group_size), io.later("micro_batches", e.micro_batches);
}
template <typename Io>
void list_fields(Io& io, event::Reported& e) {
  io.columns(e.trial, e.attempt, e.epoch, e.step);
  io("metrics", e.metrics), io("work", e.work), io("train_s", e.train_s);
}
template <typename Io>
void list_fields(Io& io, event::Told& e) {
  io.columns(e.trial);
  io("state", e.state);
  io("failure", e.outcome, cause_of(e.outcome));
  io("reason", e.reason, e.state);
  io("at", e.at_s), io(e.outcome);
  io.unless_default("unreported_s", e.unreported_s);
}
template <typename Io>
void list_fields(Io& io, Measured& m) {
  io.values("values", m.values);
  io("fidelity", m.fidelity), io("work", m.work), io("stopped_early", m.stopped_early);
}
template <typename Io>
void list_fields(Io& io, Failed& f) {
  io("cause", f.cause), io("fidelity", f.fidelity), io("work", f.work);
}
template <typename Io>
void list_fields(Io& io, event::Requeued& e) {
  io.columns(e.trial, e.attempt);
  io("reason", e.reason);
  io.unless_default("unreported_s", e.unreported_s);
}
template <typename Io>
void list_fields(Io& io, event::Refit& e) {
  io("model", e.model), io("version", e.version), io("observations", e.observations);
  io("parameters", e.parameters), io("at", e.at_s);
}
template <typename Io>
void list_fields(Io& io, event::AlgorithmChosen& e) {
  io("key", e.key), io("way", e.algorithm), io("seconds", e.seconds), io("at", e.at_s);
}
template <typename Io>
void list_fields(Io& io, event::Source& e) {
  io("study", e.study), io("config", e.config), io("trials", e.trials);
  io.unless_default("same_data", e.has_same_data);
}
template <typename Io>
void list_fields(Io& io, event::Source::Trial& t) {
  io("params", t.params), io("values", t.values), io("fidelity", t.fidelity), io("work", t.work);
}
template <typename Io>
void list_fields(Io&, event::Accounted&) {}  // columns of the study's row
template <typename Io>
void list_fields(Io& io, event::StudyState& e) {
  io("state", e.state), io("budget", e.budget), io("at", e.at_s);
  io.unless_default("backend", e.backend);
  io.unless_default("config", e.config);
}
template <typename Io>
void list_fields(Io& io, event::Model& e) {
  io.columns(e.trial);
  io("model", e.model), io("kind", e.kind), io("state", e.state), io("failure", e.failure);
  io.unless_default("reason", e.reason);
  io("seed", e.seed), io("epochs", e.epochs), io("trained_on", e.trained_on);
  io("began_from", e.began_from), io("first", e.first);
  io("network_params", e.network_params), io("flops", e.flops);
  io("metrics", e.metrics), io("intervals", e.intervals);
  io("dataset", e.dataset), io("folder", e.folder), io("at", e.at_s);
  io.unless_default("parent", e.parent);
  io.unless_default("settings", e.settings), io.unless_default("architecture", e.architecture);
}

// The kinds of events, in the order of Event.
constexpr std::array<std::string_view, 11> kKinds = {"asked",    "started", "reported", "told",
                                                     "requeued", "refit",   "chosen",   "",
                                                     "state",    "source",  "model"};
static_assert(kKinds.size() == std::variant_size_v<Event>);

template <typename T>
concept Enumeration = std::is_enum_v<T>;

class JsonWriter {
 public:
  explicit JsonWriter(std::span<const Objective> objectives) : objectives_(objectives) {}

  void columns(TrialId trial, int attempt = 0, int epoch = 0, std::int64_t step = 0) {
    row.trial = static_cast<std::int64_t>(trial);
    row.attempt = attempt;
    row.epoch = epoch;
    row.step = step;
  }
  template <typename T>
  void operator()(const char* key, const T& value) {
    fields[key] = value;
  }
  template <Enumeration Enum>
  void operator()(const char* key, const Enum& value) {
    fields[key] = to_text(value);
  }
  void operator()(const char* key, double value) { fields[key] = json_number<Json>(value); }
  void operator()(const char* key, const std::vector<double>& values) {
    Json list = Json::array();
    for (const double value : values) list.push_back(json_number<Json>(value));
    fields[key] = std::move(list);
  }
  void operator()(const char* key, const std::vector<std::pair<std::string, double>>& values) {
    Json map = Json::object();
    for (const auto& [name, value] : values) map[name] = json_number<Json>(value);
    fields[key] = std::move(map);
  }
  void operator()(const char* key, const std::vector<std::pair<std::string, Value>>& params) {
    Json map = Json::object();
    for (const auto& [name, value] : params) map[name] = choice(value);
    fields[key] = std::move(map);
  }
  void operator()(const char* key, std::vector<event::Source::Trial>& trials) {
    Json list = Json::array();
    for (event::Source::Trial& trial : trials) {
      JsonWriter one(objectives_);
      list_fields(one, trial);
      list.push_back(std::move(one.fields));
    }
    fields[key] = std::move(list);
  }
  void operator()(const char* key, const std::vector<event::Interval>& intervals) {
    Json map = Json::object();
    for (const auto& [metric, low, high] : intervals)
      map[metric] = {json_number<Json>(low), json_number<Json>(high)};
    fields[key] = std::move(map);
  }
  void operator()(const char* key, std::optional<std::int64_t> count) {
    fields[key] = count ? Json(*count) : Json();
  }
  void operator()(const char* key, const RequeueReason& reason) { fields[key] = to_text(reason); }
  void operator()(const char* key, const EndReason& reason, TrialState) {
    fields[key] = to_text(reason);
  }
  void operator()(const char* key, const Outcome&, std::optional<Cause> cause) {
    fields[key] = cause ? to_text(*cause) : "";
  }
  void operator()(Outcome& outcome) {
    std::visit([this](auto& one) { list_fields(*this, one); }, outcome);
  }
  // Writes the values under the objectives' names.
  void values(const char* key, const std::vector<double>& values) {
    Json map = Json::object();
    for (std::size_t i = 0; i < values.size(); ++i)
      map[objective_name(objectives_, i)] = json_number<Json>(values[i]);
    fields[key] = std::move(map);
  }
  void later(const char* key, int value) { fields[key] = value; }
  template <typename T>
  void unless_default(const char* key, const T& value) {
    if (value != T()) (*this)(key, value);
  }
  void operator()(const char* key, const std::optional<ParentWeights>& weights) {
    fields[key] = {weights->trial, json_number<Json>(weights->epochs)};
  }

  EventRow row;
  Json fields = Json::object();

 private:
  std::span<const Objective> objectives_;
};

// JsonReader reads fields; bad_field() is the first one that is missing or malformed.
class JsonReader {
 public:
  JsonReader(const EventRow& row, const Json& fields) : row_(row), fields_(fields) {}

  void columns(TrialId& trial) { trial = static_cast<TrialId>(row_.trial); }
  void columns(TrialId& trial, int& attempt) {
    columns(trial);
    attempt = row_.attempt;
  }
  void columns(TrialId& trial, int& attempt, int& epoch, std::int64_t& step) {
    columns(trial, attempt);
    epoch = row_.epoch;
    step = row_.epoch;
  }

  template <std::integral T>
  void operator()(const char* key, T& out) {
    const Json* field = find(key, &Json::is_number_integer);
    if (field != nullptr) out = field->get<T>();
  }
  void operator()(const char* key, bool& out) {
    if (const Json* field = find(key, &Json::is_boolean)) out = field->get<bool>();
  }
  void operator()(const char* key, std::string& out) {
    if (const Json* field = find(key, &Json::is_string)) out = field->get<std::string>();
  }
  void operator()(const char* key, double& out) {
    if (const Json* field = find(key)) take(key, number_in_json(*field), out);
  }
  void operator()(const char* key, std::optional<std::int64_t>& out) {
    const Json* field = find(key);
    if (field != nullptr && !field->is_null()) (*this)(key, out.emplace());
  }
  void operator()(const char* key, StudyPhase& out) { take_word(key, study_phase_from, out); }
  void operator()(const char* key, TrialState& out) { take_word(key, trial_state_from, out); }
  void operator()(const char* key, ModelKind& out) { take_word(key, model_kind_from, out); }
  void operator()(const char* key, ModelState& out) { take_word(key, model_state_from, out); }
  void operator()(const char* key, Cause& out) { take_word(key, cause_from, out); }
  void operator()(const char* key, RequeueReason& out) {
    std::string text;
    (*this)(key, text);
    out = requeue_reason_from(text);
  }
  void operator()(const char* key, EndReason& out, TrialState state) {
    std::string text;
    (*this)(key, text);
    take(key, end_reason_from(state, text), out);
  }
  // Only checks the text, which repeats the cause of the outcome; the outcome is read later.
  void operator()(const char* key, const Outcome&, std::optional<Cause>) {
    std::string text;
    (*this)(key, text);
    if (text != (fields_.contains("cause") ? fields_["cause"] : Json(""))) complain(key);
  }
  void operator()(Outcome& outcome) {
    if (fields_.contains("cause")) outcome = Failed{};
    std::visit([this](auto& one) { list_fields(*this, one); }, outcome);
  }
  void operator()(const char* key, std::vector<double>& out) {
    const Json* list = find(key, &Json::is_array);
    if (list == nullptr) return;
    for (const Json& item : *list) take(key, number_in_json(item), out.emplace_back());
  }
  void operator()(const char* key, std::vector<std::pair<std::string, double>>& out) {
    each_member(key, [&](const std::string& name, const Json& value) {
      take(key, number_in_json(value), out.emplace_back(name, 0).second);
    });
  }
  void operator()(const char* key, std::vector<event::Interval>& out) {
    each_member(key, [&](const std::string& metric, const Json& ends) {
      if (!ends.is_array() || ends.size() != 2) return complain(key);
      event::Interval& interval = out.emplace_back(event::Interval{metric, 0, 0});
      take(key, number_in_json(ends[0]), interval.low);
      take(key, number_in_json(ends[1]), interval.high);
    });
  }
  void operator()(const char* key, std::vector<std::pair<std::string, Value>>& out) {
    each_member(key, [&](const std::string& name, const Json& value) {
      take(key, choice_from(value), out.emplace_back(name, false).second);
    });
  }
  void operator()(const char* key, std::vector<event::Source::Trial>& out) {
    const Json* list = find(key, &Json::is_array);
    if (list == nullptr) return;
    for (const Json& item : *list) {
      JsonReader one(row_, item);
      list_fields(one, out.emplace_back());
      if (one.bad_field() != nullptr) complain(key);
    }
  }
  void values(const char* key, std::vector<double>& out) {
    each_member(key, [&](const std::string&, const Json& value) {
      take(key, number_in_json(value), out.emplace_back());
    });
  }
  // Reads a field that older versions did not write.
  void later(const char* key, int& out) {
    if (fields_.contains(key)) (*this)(key, out);
  }
  template <typename T>
  void unless_default(const char* key, T& out) {
    if (fields_.contains(key)) (*this)(key, out);
  }
  void operator()(const char* key, std::optional<ParentWeights>& out) {
    const Json* pair = find(key, &Json::is_array);
    if (pair == nullptr || pair->size() != 2 || !pair->front().is_number()) return complain(key);
    out = {.trial = pair->front().get<TrialId>()};
    take(key, number_in_json(pair->back()), out->epochs);
  }

  const char* bad_field() const { return bad_field_; }

 private:
  using Is = bool (Json::*)() const noexcept;

  void complain(const char* key) {
    if (bad_field_ == nullptr) bad_field_ = key;
  }
  const Json* find(const char* key) {
    const auto found = fields_.find(key);
    if (found != fields_.end()) return &*found;
    complain(key);
    return nullptr;
  }
  const Json* find(const char* key, Is is) {
    const Json* field = find(key);
    if (field == nullptr || (field->*is)()) return field;
    complain(key);
    return nullptr;
  }
  template <typename T>
  void take(const char* key, std::optional<T> found, T& out) {
    if (!found) return complain(key);
    out = *std::move(found);
  }
  template <typename From, typename Enum>
  void take_word(const char* key, From from, Enum& out) {
    std::string word;
    (*this)(key, word);
    take(key, from(word), out);
  }
  template <typename Use>
  void each_member(const char* key, Use use) {
    const Json* map = find(key, &Json::is_object);
    if (map == nullptr) return;
    for (const auto& [name, value] : map->items()) use(name, value);
  }

  const EventRow& row_;
  const Json& fields_;
  const char* bad_field_ = nullptr;
};

tl::unexpected<Error> malformed(const EventRow& row, std::string_view what) {
  return fail(ErrorCode::kStorage,
              fmt::format("a malformed {} event: {}", in_quotes(row.kind), what));
}

template <std::size_t I = 0>
Result<Event> parse(const EventRow& row, const Json& fields) {
  if constexpr (I == kKinds.size()) {
    return malformed(row, "there is no such kind");
  } else {
    if (row.kind != kKinds[I] || row.kind.empty()) return parse<I + 1>(row, fields);
    std::variant_alternative_t<I, Event> e;
    JsonReader reader(row, fields);
    list_fields(reader, e);
    if (reader.bad_field() != nullptr)
      return malformed(row, fmt::format("it has no valid '{}'", reader.bad_field()));
    return Event(std::move(e));
  }
}

}  // namespace

EventRow to_row(const Event& event, std::span<const Objective> objectives) {
  JsonWriter writer(objectives);
  writer.row.kind = kKinds[event.index()];
  std::visit([&writer](auto e) { list_fields(writer, e); }, event);
  writer.row.payload = dump(writer.fields);
  return writer.row;
}

Result<Event> to_event(const EventRow& row) {
  const Json fields = json_or_discarded<Json>(row.payload);
  if (!fields.is_object()) return malformed(row, "its payload is not a map");
  return parse(row, fields);
}

}  // namespace detol::inline knowledge
