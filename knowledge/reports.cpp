#include "knowledge/reports.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/table.h"
#include "knowledge/json_number_impl.h"

namespace detol::inline knowledge {
namespace {

using Json = nlohmann::ordered_json;  // metrics keep their order

Json list_of(std::span<const NumberedReport> reports, double event::Reported::*field) {
  Json list = Json::array();
  for (const NumberedReport& each : reports) list.push_back(json_number(each.report.*field));
  return list;
}

Json metrics_of(std::span<const NumberedReport> reports) {
  Json metrics = Json::object();
  const auto& names = reports.front().report.metrics;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Json values = Json::array();
    for (const NumberedReport& each : reports)
      values.push_back(json_number(each.report.metrics[i].second));
    metrics[names[i].first] = std::move(values);
  }
  return metrics;
}

tl::unexpected<Error> malformed(std::string_view field) {
  return fail(ErrorCode::kStorage, fmt::format("malformed reports: no valid '{}'", field));
}

// Returns the member `key` if it is a list of `count` numbers.
std::optional<std::vector<double>> numbers_in(const Json& list, std::size_t count) {
  if (!list.is_array() || list.size() != count) return std::nullopt;
  std::vector<double> numbers;
  for (const Json& item : list) {
    const auto number = number_from(item);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

// Fills in the metrics of the reports.
bool read_metrics(const Json& metrics, std::span<NumberedReport> reports) {
  if (!metrics.is_object()) return false;
  for (const auto& [name, list] : metrics.items()) {
    const auto values = numbers_in(list, reports.size());
    if (!values) return false;
    for (std::size_t i = 0; i < reports.size(); ++i)
      reports[i].report.metrics.emplace_back(name, (*values)[i]);
  }
  return true;
}

bool read_field(const Json& list, std::span<NumberedReport> reports,
                double event::Reported::*field) {
  const auto values = numbers_in(list, reports.size());
  for (std::size_t i = 0; values && i < reports.size(); ++i)
    reports[i].report.*field = (*values)[i];
  return values.has_value();
}

// Fills in the numbers of the events, of which the last is known.
bool read_seqs(const Json& gaps, std::span<NumberedReport> reports) {
  if (!gaps.is_array() || gaps.size() + 1 != reports.size()) return false;
  for (std::size_t i = reports.size() - 1; i > 0; --i) {
    const Json& gap = gaps[i - 1];
    if (!gap.is_number_unsigned() || gap.get<std::int64_t>() <= 0) return false;
    reports[i - 1].seq = reports[i].seq - gap.get<std::int64_t>();
  }
  return reports.front().seq > 0;
}

}  // namespace

bool continues(const event::Reported& last, const event::Reported& next) {
  return next.trial == last.trial && next.attempt == last.attempt && last.epoch > 0 &&
         last.part == 0 && next.part == 0 && next.epoch == last.epoch + 1 &&
         last.step % last.epoch == 0 && next.step - last.step == last.step / last.epoch &&
         std::ranges::equal(
             last.metrics, next.metrics, {}, [](const auto& one) { return one.first; },
             [](const auto& one) { return one.first; });
}

EventRow row_of(std::span<const NumberedReport> reports) {
  const event::Reported& last = reports.back().report;
  double device_s = 0;
  for (const NumberedReport& each : reports) device_s += each.report.train_s;
  Json fields{{"metrics", metrics_of(reports)},
              {"work", list_of(reports, &event::Reported::work)},
              {"train_s", list_of(reports, &event::Reported::train_s)},
              {"device_s", json_number(device_s)}};
  if (last.part > 0) fields["part"] = last.part;
  for (std::size_t i = 1; i < reports.size(); ++i)
    fields["gaps"].push_back(reports[i].seq - reports[i - 1].seq);
  EventRow row{.kind = "reported",
               .trial = static_cast<std::int64_t>(last.trial),
               .attempt = last.attempt,
               .epoch = last.epoch,
               .step = last.step,
               .copy = static_cast<std::int64_t>(reports.size()),
               .payload = {}};
  row.payload = fields.dump(-1, ' ', false, Json::error_handler_t::replace);
  return row;
}

Result<std::vector<NumberedReport>> reports_of(const EventRow& row, std::int64_t seq) {
  const bool is_run = row.copy > 1;
  if (row.copy < 1 || (is_run && (row.copy > row.epoch || row.step % row.epoch != 0)))
    return malformed("copy");
  const Json fields = Json::parse(row.payload, nullptr, /*allow_exceptions=*/false);
  if (!fields.is_object()) return malformed("payload");
  std::vector<NumberedReport> reports(static_cast<std::size_t>(row.copy));
  for (std::size_t i = 0; i < reports.size(); ++i) {
    event::Reported& report = reports[i].report;
    report.trial = static_cast<TrialId>(row.trial);
    report.attempt = row.attempt;
    report.epoch = row.epoch - static_cast<int>(reports.size() - 1 - i);
    report.step = is_run ? row.step / row.epoch * report.epoch : row.step;
  }
  reports.back().seq = seq;
  const auto field = [&fields](const char* key) { return fields.value(key, Json()); };
  if (!read_metrics(field("metrics"), reports)) return malformed("metrics");
  if (!read_field(field("work"), reports, &event::Reported::work)) return malformed("work");
  if (!read_field(field("train_s"), reports, &event::Reported::train_s))
    return malformed("train_s");
  if (is_run && !read_seqs(field("gaps"), reports)) return malformed("gaps");
  if (fields.contains("part")) {
    const auto part = number_from(fields["part"]);
    if (is_run || !part || *part <= 0 || *part >= 1) return malformed("part");
    reports.back().report.part = *part;
  }
  return reports;
}

EventRow single_row(const Event& event, std::span<const Objective> objectives) {
  const auto* reported = std::get_if<event::Reported>(&event);
  if (reported == nullptr) return to_row(event, objectives);
  const NumberedReport report{0, *reported};
  return row_of({&report, 1});
}

}  // namespace detol::inline knowledge
