#include "report/panels.h"

namespace detol::inline report {
namespace {

struct Member {
  std::string name;
  std::int64_t proposals = 0, scored = 0, improvements = 0;
  double best = std::nan("");
  double sum = 0;
  double device_s = 0;
};

Member& member_called(const std::string& name, std::vector<Member>& members) {
  for (Member& member : members)
    if (member.name == name) return member;
  members.push_back({.name = name});
  return members.back();
}

Json row_of(const Member& member) {
  return {
      {"algorithm", member.name},
      {"proposals", member.proposals},
      {"scored", member.scored},
      {"improvements", member.improvements},
      {"best", number_or_null(member.best)},
      {"mean", number_or_null(member.scored > 0 ? member.sum / static_cast<double>(member.scored)
                                                : std::nan(""))},
      {"device_s", member.device_s}};
}

}  // namespace

Json credit(const ReportSource& source, const Trials& trials) {
  if (trials.empty() || source.study.objectives.empty())
    return {{"why", "Nobody has proposed a trial yet."}};
  const Direction direction = source.study.objectives.front().direction;
  std::vector<Member> members;
  for (const ShownTrial& trial : trials) {
    Member& member = member_called(trial.algorithm, members);
    ++member.proposals;
    member.device_s += trial.device_s;
  }
  double best = std::nan("");
  for (const std::size_t i : by_end(trials)) {
    if (!trials[i].is_scored) continue;
    Member& member = member_called(trials[i].algorithm, members);
    const double value = trials[i].values.front();
    ++member.scored;
    member.sum += value;
    if (is_better(direction, value, member.best)) member.best = value;
    if (is_better(direction, value, best)) {
      best = value;
      ++member.improvements;
    }
  }
  Json rows = Json::array();
  for (const Member& member : members) rows.push_back(row_of(member));
  return {{"rows", rows}};
}

}  // namespace detol::inline report
