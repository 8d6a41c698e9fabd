#include "knowledge/labels.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <random>
#include <tuple>

#include "core/hash.h"
#include "core/json_text.h"

namespace detol::inline knowledge {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLaterS = 1e-3;

std::string key_of(const StudyRecord& study) {
  return to_hex(hash64(study.first_config(), std::bit_cast<std::uint64_t>(study.created_s)));
}

// Change: a fact of the study, read.
struct Change {
  double at_s = 0;
  std::string key;  // decides between changes at the same time
  Json payload;
};

// Returns the changes of a study in their order. Facts that no detol writes are left out.
std::vector<Change> changes_of(const StudyRecord& study, std::span<const Fact> facts) {
  const std::string key = key_of(study);
  std::vector<Change> changes;
  for (const Fact& fact : facts) {
    if (fact.payload.find(key) == std::string::npos) continue;  // saves the parsing
    Json payload = json_or_discarded<Json>(fact.payload);
    if (!payload.is_object() || payload.value("study", Json()) != key) continue;
    const Json at = payload.value("at", Json());
    if (at.is_number()) changes.push_back({at.get<double>(), fact.key, std::move(payload)});
  }
  std::ranges::sort(changes, [](const Change& a, const Change& b) {
    return std::tie(a.at_s, a.key) < std::tie(b.at_s, b.key);
  });
  return changes;
}

void apply(const Json& payload, std::map<LabelTarget, Labels>& all) {
  const Json trial = payload.value("trial", Json());
  const Json tag = payload.value("tag", Json()), note = payload.value("note", Json());
  Labels& labels =
      all[trial.is_number_unsigned() ? LabelTarget(trial.get<TrialId>()) : std::nullopt];
  if (note.is_string()) labels.note = note.get<std::string>();
  if (!tag.is_string()) return;
  if (payload.value("on", Json()) == true)
    labels.tags.insert(tag.get<std::string>());
  else
    labels.tags.erase(tag.get<std::string>());
}

}  // namespace

std::vector<Fact> label_facts(const StudyRecord& study, const LabelChange& change, double now_s,
                              std::span<const Fact> known) {
  const std::vector<Change> before = changes_of(study, known);
  const double at_s = before.empty() ? now_s : std::max(now_s, before.back().at_s + kLaterS);
  std::vector<Fact> facts;
  std::random_device device;
  const auto add = [&](const Json& what) {
    Json payload{{"study", key_of(study)}};
    if (change.target) payload["trial"] = *change.target;
    payload.update(what);
    payload["at"] = at_s;
    facts.push_back(
        {kLabelFact, to_hex(std::uint64_t{device()} << 32 | device()), compact(payload)});
  };
  for (const std::string& tag : change.tags)
    add(Json::object({{"tag", tag}, {"on", !change.removes_tags}}));
  if (change.note) add(Json::object({{"note", *change.note}}));
  return facts;
}

std::map<LabelTarget, Labels> labels_of(const StudyRecord& study, std::span<const Fact> facts) {
  std::map<LabelTarget, Labels> labels;
  for (const Change& change : changes_of(study, facts)) apply(change.payload, labels);
  return labels;
}

}  // namespace detol::inline knowledge
