#include "scheduler/message.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "core/table.h"
#include "encodings/space/value_json.h"

namespace detol::inline scheduler {
namespace {

using nlohmann::json;

// Lists the fields of a struct once, for both directions: `io` is a Writer or a Reader.
template <typename Io>
void list_fields(Io& io, message::Hello& m) {
  io("worker", m.worker), io("start", m.start), io("key", m.key);
  io("id", m.id), io("name", m.name), io("ranks", m.ranks), io("devices", m.devices),
      io("memory", m.memory);
  io("previous", m.previous_status);
  io("ready", m.ready), io("ready_s", m.ready_s);
  io("trial", m.trial), io("attempt", m.attempt);
}
template <typename Io>
void list_fields(Io& io, message::Heartbeat& m) {
  io("worker", m.worker), io("trial", m.trial), io("attempt", m.attempt);
  io("quiet_s", m.quiet_s), io("slowest_s", m.slowest_s);
  io("leaving", m.is_leaving);
}
template <typename Io>
void list_fields(Io& io, message::Report& m) {
  io("worker", m.worker), io("trial", m.trial), io("attempt", m.attempt);
  io("epoch", m.report.epoch), io("part", m.report.part), io("metrics", m.report.metrics);
  io("work", m.report.work), io("train_s", m.report.train_s), io("step", m.report.step);
  io("best", m.report.is_best), io("last", m.report.is_last), io("more", m.more),
      io("after", m.after);
}
template <typename Io>
void list_fields(Io& io, message::Ended& m) {
  io("worker", m.worker), io("trial", m.trial), io("attempt", m.attempt);
  io("trouble", m.trouble, message::Ended::Trouble::kStorage);
  io("reason", m.evaluation.reason);
  io("end", m.evaluation.end, Evaluation::End::kFailed);
  io("cause", m.evaluation.cause, Cause::kInvalid);
  io("unreported_s", m.evaluation.unreported_s);
}
template <typename Io>
void list_fields(Io&, message::Identify&) {}
template <typename Io>
void list_fields(Io& io, message::Setup& m) {
  io("config", m.config), io("backend", m.backend), io("classes", m.task.classes);
  io("task", m.task.kind, TaskKind::kRegression);
  Shape& input = m.task.input;
  io("channels", input.channels), io("height", input.height), io("width", input.width);
  io("choices", m.choices);
}
template <typename Io>
void list_fields(Io& io, message::Train& m) {
  io("trial", m.trial), io("attempt", m.attempt), io("seed", m.seed);
  io("acknowledged", m.acknowledged), io("undecided", m.undecided),
      io("micro_batches", m.micro_batches);
  io("folder", m.folder), io("params", m.params);
  io("parent", m.parent), io("parent_epochs", m.parent_epochs);
  io("parent_params", m.parent_params);
}
template <typename Io>
void list_fields(Io& io, message::ReportAck& m) {
  io("trial", m.trial), io("attempt", m.attempt), io("epochs", m.epochs);
  io("verdict", m.verdict, Verdict::kSuspend), io("undecided", m.undecided);
}
template <typename Io>
void list_fields(Io& io, message::EndAck& m) {
  io("trial", m.trial), io("attempt", m.attempt);
}
template <typename Io>
void list_fields(Io&, message::HeartbeatAck&) {}
template <typename Io>
void list_fields(Io& io, message::Suspend& m) {
  io("trial", m.trial), io("attempt", m.attempt);
}
template <typename Io>
void list_fields(Io&, message::Shutdown&) {}
template <typename Io>
void list_fields(Io& io, message::Timed& m) {
  io("worker", m.worker), io("choices", m.choices);
}
template <typename Io>
void list_fields(Io& io, message::Chosen& m) {
  io("choices", m.choices);
}

template <typename Io>
void list_fields(Io& io, message::Call& m) {
  io("key", m.key), io("number", m.number), io("caller", m.caller), io("line", m.line);
}
template <typename Io>
void list_fields(Io& io, message::Answer& m) {
  io("number", m.number), io("line", m.line);
}

// The kinds on the wire, in the order of Message. "who" is Identify, "welcome" Setup, "answer"
// ReportAck, "noted" EndAck, "beat" HeartbeatAck and "leave" Shutdown.
constexpr std::string_view kKinds[] = {
    "hello", "heartbeat", "report",  "ended", "who",   "welcome", "train", "answer",
    "noted", "beat",      "suspend", "leave", "timed", "chosen",  "call",  "reply"};
static_assert(std::size(kKinds) == std::variant_size_v<Message>);

class Writer {
 public:
  template <typename T>
  void operator()(const char* key, const T& value) {
    fields[key] = value;
  }
  template <typename Enum>
  void operator()(const char* key, Enum value, Enum) {
    fields[key] = static_cast<int>(value);
  }
  void operator()(const char* key, const std::vector<Metric>& metrics) {
    json list = json::array();
    for (const Metric& m : metrics) list.push_back(json::array({m.name, m.value}));
    fields[key] = std::move(list);
  }
  void operator()(const char* key, const std::vector<std::pair<std::string, Value>>& params) {
    json list = json::array();
    for (const auto& [name, value] : params) list.push_back(json::array({name, json_value(value)}));
    fields[key] = std::move(list);
  }
  void operator()(const char* key, const AlgorithmChoices& choices) {
    json list = json::array();
    for (const auto& [shape, algorithm] : choices.algorithms)
      list.push_back(json::array({shape, algorithm}));
    fields[key] = std::move(list);
  }
  void operator()(const char* key, const std::vector<TimedShape>& choices) {
    json list = json::array();
    for (const TimedShape& one : choices) {
      json seconds = json::array();
      for (const auto& [algorithm, time] : one.seconds)
        seconds.push_back(json::array({algorithm, time}));
      list.push_back(json::array({one.key, json::array({one.algorithm, std::move(seconds)})}));
    }
    fields[key] = std::move(list);
  }

  json fields = json::object();
};

// Reader keeps the key of the first field that is missing or invalid.
class Reader {
 public:
  explicit Reader(const json& fields) : fields_(fields) {}

  void operator()(const char* key, int& out) {
    const json* field = find(key, &json::is_number_integer);
    if (field == nullptr) return;
    const auto number = field->get<std::int64_t>();
    if (number < 0 || number > std::numeric_limits<int>::max()) return complain(key);
    out = static_cast<int>(number);
  }
  void operator()(const char* key, std::int64_t& out) { take(key, &json::is_number_integer, out); }
  void operator()(const char* key, std::uint64_t& out) {
    take(key, &json::is_number_unsigned, out);
  }
  void operator()(const char* key, double& out) { take(key, &json::is_number, out); }
  void operator()(const char* key, bool& out) { take(key, &json::is_boolean, out); }
  void operator()(const char* key, std::string& out) { take(key, &json::is_string, out); }
  void operator()(const char* key, std::vector<std::string>& out) {
    const json* list = find(key, &json::is_array);
    if (list == nullptr) return;
    for (const json& word : *list) {
      if (!word.is_string()) return complain(key);
      out.push_back(word.get<std::string>());
    }
  }

  template <typename Enum>
  void operator()(const char* key, Enum& out, Enum last) {
    int number = 0;
    (*this)(key, number);
    if (number > static_cast<int>(last)) return complain(key);
    out = static_cast<Enum>(number);
  }
  void operator()(const char* key, std::vector<Metric>& out) {
    each_pair(key, [&](const std::string& name, const json& value) {
      if (!value.is_number()) return complain(key);
      out.push_back({name, value.get<double>()});
    });
  }
  void operator()(const char* key, std::vector<std::pair<std::string, Value>>& out) {
    each_pair(key, [&](const std::string& name, const json& value) {
      const auto known = value_in_json(value);
      if (!known) return complain(key);
      out.emplace_back(name, *known);
    });
  }

  void operator()(const char* key, AlgorithmChoices& out) {
    each_pair(key, [&](const std::string& shape, const json& algorithm) {
      if (!algorithm.is_string()) return complain(key);
      out.algorithms.emplace(shape, algorithm.get<std::string>());
    });
  }
  void operator()(const char* key, std::vector<TimedShape>& out) {
    each_pair(key, [&](const std::string& shape, const json& found) {
      if (!found.is_array() || found.size() != 2 || !found[0].is_string()) return complain(key);
      TimedShape& one = out.emplace_back(TimedShape{shape, found[0].get<std::string>(), {}});
      each_pair(key, found[1], [&](const std::string& algorithm, const json& seconds) {
        if (!seconds.is_number()) return complain(key);
        one.seconds.emplace_back(algorithm, seconds.get<double>());
      });
    });
  }

  const char* bad_field() const { return bad_field_; }

 private:
  using Is = bool (json::*)() const noexcept;

  void complain(const char* key) {
    if (bad_field_ == nullptr) bad_field_ = key;
  }
  const json* find(const char* key, Is is) {
    const auto found = fields_.find(key);
    if (found != fields_.end() && ((*found).*is)()) return &*found;
    complain(key);
    return nullptr;
  }
  template <typename T>
  void take(const char* key, Is is, T& out) {
    if (const json* field = find(key, is)) out = field->get<T>();
  }
  template <typename Use>
  void each_pair(const char* key, Use use) {
    if (const json* list = find(key, &json::is_array)) each_pair(key, *list, use);
  }
  template <typename Use>
  void each_pair(const char* key, const json& list, Use use) {
    if (!list.is_array()) return complain(key);
    for (const json& pair : list) {
      if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string()) return complain(key);
      use(pair[0].get<std::string>(), pair[1]);
    }
  }

  const json& fields_;
  const char* bad_field_ = nullptr;
};

// ShallowParser builds what is nested at most 8 deep: the parser recurses, and the stack is finite.
class ShallowParser final : public nlohmann::detail::json_sax_dom_parser<json> {
 public:
  explicit ShallowParser(json& into) : json_sax_dom_parser(into, /*allow_exceptions=*/false) {}

  bool start_object(std::size_t size) {
    return ++depth_ <= 8 && json_sax_dom_parser::start_object(size);
  }
  bool end_object() { return --depth_, json_sax_dom_parser::end_object(); }
  bool start_array(std::size_t size) {
    return ++depth_ <= 8 && json_sax_dom_parser::start_array(size);
  }
  bool end_array() { return --depth_, json_sax_dom_parser::end_array(); }

 private:
  int depth_ = 0;
};

tl::unexpected<Error> bad(std::string what) {
  return fail(ErrorCode::kInput, "message: " + std::move(what));
}

template <std::size_t I = 0>
Result<Message> decode_kind(std::string_view kind, const json& fields) {
  if constexpr (I == std::size(kKinds)) {
    return bad(fmt::format("unknown kind {}", in_quotes(kind.substr(0, 40))));
  } else {
    if (kind != kKinds[I]) return decode_kind<I + 1>(kind, fields);
    std::variant_alternative_t<I, Message> m;
    Reader reader(fields);
    list_fields(reader, m);
    if (reader.bad_field() != nullptr)
      return bad(fmt::format("{} has no valid '{}'", kind, reader.bad_field()));
    return Message(std::move(m));
  }
}

}  // namespace

std::string encode(const Message& message) {
  Writer writer;
  writer.fields["version"] = kProtocolVersion;
  writer.fields["kind"] = kKinds[message.index()];
  std::visit([&](auto m) { list_fields(writer, m); }, message);
  std::string bytes;
  json::to_msgpack(writer.fields, nlohmann::detail::output_adapter<char>(bytes));
  return bytes;
}

Result<Message> decode(std::string_view bytes) {
  if (bytes.size() > kMessageLimit) return bad(fmt::format("{} bytes are too many", bytes.size()));
  json fields;
  ShallowParser parser(fields);
  if (!json::sax_parse(bytes.begin(), bytes.end(), &parser, json::input_format_t::msgpack))
    return bad("not msgpack");
  if (!fields.is_object()) return bad("not a map");
  int version = 0;
  std::string kind;
  Reader reader(fields);
  reader("version", version), reader("kind", kind);
  if (reader.bad_field() != nullptr) return bad(fmt::format("no '{}'", reader.bad_field()));
  if (version != kProtocolVersion) {
    return bad(fmt::format(
        "protocol version {}, of {} detol; this one speaks {}: start master and "
        "workers with the same detol",
        version, version < kProtocolVersion ? "an older" : "a newer", kProtocolVersion));
  }
  return decode_kind(kind, fields);
}

}  // namespace detol::inline scheduler
