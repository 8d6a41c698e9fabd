#include <algorithm>

#include "core/json_text.h"
#include "report/panels.h"

namespace detol::inline report {
namespace {

std::string_view kind_text(DomainKind kind) {
  switch (kind) {
    case DomainKind::kFloat:
      return "float";
    case DomainKind::kInt:
      return "int";
    case DomainKind::kCategorical:
      return "categorical";
    case DomainKind::kBool:
      return "bool";
  }
  return "";
}

Json choices_of(const Domain& domain) {
  if (domain.kind == DomainKind::kBool) return {"false", "true"};
  Json choices = Json::array();
  for (const Value& value : domain.choices) choices.push_back(to_text(value));
  return choices;
}

// Returns a trial's value of the choice, as a text where it is one of a list; null: inactive.
Json value_of(const ShownTrial& trial, const Domain& domain) {
  const auto found = trial.params.find(domain.name);
  if (found == trial.params.end()) return {};
  if (domain.is_numeric()) return found->is_number() ? *found : Json();
  return found->is_string() ? *found : Json(compact(*found));
}

}  // namespace

Json parameters(const ReportSource& source, const Trials& trials) {
  Json shown = Json::array();
  for (const Domain& domain : source.config.space.domains()) {
    Json values = Json::array();
    for (const ShownTrial& trial : trials) values.push_back(value_of(trial, domain));
    shown.push_back({{"name", domain.name},
                     {"kind", kind_text(domain.kind)},
                     {"log", domain.log},
                     {"choices", choices_of(domain)},
                     {"values", std::move(values)}});
  }
  return shown;
}

Json importances(const ReportSource& source) {
  if (!source.why_no_importance.empty()) return {{"why", source.why_no_importance}};
  if (source.importance.empty()) return {{"why", "The study has no choices to compare."}};
  Json rows = Json::array();
  for (const ChoiceImportance& choice : source.importance)
    rows.push_back({{"name", source.config.space.domains()[choice.domain].name},
                    {"value", number_or_null(choice.value)},
                    {"low", number_or_null(choice.low)},
                    {"high", number_or_null(choice.high)},
                    {"trials", choice.trials}});
  return {{"rows", rows}};
}

}  // namespace detol::inline report
