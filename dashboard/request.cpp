#include "dashboard/request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/json_text.h"

namespace detol::inline dashboard {
namespace {

constexpr std::size_t kLongestWords = 200;

// The actions, in the order of Action::Kind.
constexpr std::array<std::string_view, 5> kActions = {"note", "stop", "prune", "retry", "budget"};

}  // namespace

TrialQuery trial_query_of(const std::multimap<std::string, std::string>& parameters) {
  const auto text = [&](const char* key) {
    const auto found = parameters.find(key);
    return found != parameters.end() ? found->second : std::string();
  };
  TrialQuery query;
  if (!text("sort").empty()) query.sort = text("sort");
  query.is_descending = text("down") != "0";
  query.words = text("words").substr(0, kLongestWords);
  const std::string page = text("page");
  std::uint32_t number = 0;
  if (std::from_chars(page.data(), page.data() + page.size(), number).ec == std::errc())
    query.page = number;
  return query;
}

Result<Action> action_of(const std::string& body) {
  const auto json = json_or_discarded(body);
  const auto refused = [](const char* why) { return fail(ErrorCode::kInput, why); };
  if (!json.is_object()) return refused("the body must be a JSON object");
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  Action action{.study = text("study"), .trial = {}, .note = text("note"), .more = text("more")};
  if (action.study.empty()) return refused("the body names no study");
  const auto kind = std::ranges::find(kActions, text("action"));
  if (kind == kActions.end()) return refused("`action` must be note, stop, prune, retry or budget");
  action.kind = static_cast<Action::Kind>(kind - kActions.begin());
  const bool is_of_a_trial = action.kind == Action::kPrune || action.kind == Action::kRetry;
  if (action.kind == Action::kNote && !json.contains("note"))
    return refused("the body has no note");
  if (action.kind == Action::kBudget && action.more.empty())
    return refused("the body does not say how much more");
  if (action.kind == Action::kBudget && !action.more.starts_with('+')) action.more.insert(0, "+");
  const auto trial = json.find("trial");
  if (trial == json.end() && is_of_a_trial) return refused("the body names no trial");
  if (trial == json.end()) return action;
  if (!trial->is_number_unsigned()) return refused("`trial` must be the number of a trial");
  action.trial = trial->get<std::uint64_t>();
  return action;
}

}  // namespace detol::inline dashboard
