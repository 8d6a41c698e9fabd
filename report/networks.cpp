#include <fmt/format.h>

#include "encodings/network/layer_json.h"
#include "report/base64.h"
#include "report/panels.h"

namespace detol::inline report {
namespace {

constexpr std::size_t kMostLayers = 2000;  // that are compared, which takes their square

std::string label_of(const Node& node) {
  std::string label(to_text(node.layer.kind));
  for (const auto& [name, value] : settings_of(node.layer))
    label += fmt::format(" {}={}", name, value);
  return label + "  " + to_text(node.shape);
}

std::vector<std::string> labels_of_layers(const Network& network) {
  std::vector<std::string> labels;
  for (const Node& node : network.nodes()) labels.push_back(label_of(node));
  return labels;
}

// Returns the lengths of the longest common subsequences of all pairs of tails of two lists.
std::vector<std::vector<std::size_t>> common_lengths(const std::vector<std::string>& a,
                                                     const std::vector<std::string>& b) {
  std::vector<std::vector<std::size_t>> length(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;)
      length[i][j] =
          a[i] == b[j] ? 1 + length[i + 1][j + 1] : std::max(length[i + 1][j], length[i][j + 1]);
  }
  return length;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> differing_lines(
    const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto length = common_lengths(a, b);
  std::vector<std::pair<std::string, std::string>> rows;
  std::size_t i = 0, j = 0, open = 0;  // rows from `open` on belong to one difference
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      ++i, ++j;
      open = rows.size();
      continue;
    }
    const bool takes_a = j == b.size() || (i < a.size() && length[i + 1][j] >= length[i][j + 1]);
    std::string line = takes_a ? a[i++] : b[j++];
    std::size_t at = open;
    while (at < rows.size() && !(takes_a ? rows[at].first : rows[at].second).empty()) ++at;
    if (at == rows.size()) rows.emplace_back();
    (takes_a ? rows[at].first : rows[at].second) = std::move(line);
  }
  return rows;
}

namespace {

// Returns the choices in which two trials differ, null where one has none.
Json differing_params(const Json& a, const Json& b) {
  Json rows = Json::array();
  for (const auto& [name, value] : a.items()) {
    const Json other = b.contains(name) ? b[name] : Json();
    if (value != other) rows.push_back({name, value, other});
  }
  for (const auto& [name, value] : b.items())
    if (!a.contains(name)) rows.push_back({name, Json(), value});
  return rows;
}

Json drawing_of_one(const ShownNetwork& shown, const Trials& trials) {
  const ShownTrial& trial = trials[shown.trial];
  Json row{{"trial", shown.trial},
           {"value", number_or_null(trial.values.front())},
           {"layers", shown.network.nodes().size()},
           {"network_params", number_or_null(trial.params_count)},
           {"flops", number_or_null(trial.flops)},
           {"list", labels_of_layers(shown.network)}};
  if (shown.svg.empty())
    row["why"] = shown.why_no_svg;
  else
    row["svg"] = base64(shown.svg);
  return row;
}

// Returns what differs between the two best scored trials, of different networks where there are.
Json difference(const ReportSource& source, const Trials& trials) {
  std::vector<TrialId> two;
  for (const ShownNetwork& shown : source.networks) two.push_back(shown.trial);
  for (const std::size_t i : ranked(source, trials)) {
    if (two.size() >= 2) break;
    if (two.empty() || two.front() != trials[i].trial) two.push_back(trials[i].trial);
  }
  if (two.size() < 2) return {};
  const ShownTrial &a = trials[two[0]], &b = trials[two[1]];
  Json lines = Json::array();
  if (source.networks.size() >= 2) {
    const auto one = labels_of_layers(source.networks[0].network),
               other = labels_of_layers(source.networks[1].network);
    if (std::max(one.size(), other.size()) <= kMostLayers)
      for (const auto& [left, right] : differing_lines(one, other)) lines.push_back({left, right});
  }
  return {{"trials", {a.trial, b.trial}},
          {"values", {number_or_null(a.values.front()), number_or_null(b.values.front())}},
          {"params", differing_params(a.params, b.params)},
          {"layers", lines}};
}

}  // namespace

Json networks(const ReportSource& source, const Trials& trials) {
  if (!source.config.has_networks()) return nullptr;
  Json shown{{"drawings", Json::array()}, {"difference", difference(source, trials)}};
  for (const ShownNetwork& one : source.networks)
    shown["drawings"].push_back(drawing_of_one(one, trials));
  if (source.networks.empty()) shown["why"] = source.why_no_networks;
  return shown;
}

}  // namespace detol::inline report
