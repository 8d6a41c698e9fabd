#include "knowledge/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/json_numbers.h"
#include "core/json_text.h"
#include "core/table.h"

namespace detol::inline knowledge {
namespace {

using Json = nlohmann::ordered_json;  // metrics keep their order

std::string quoted(const std::string& text) {
  return compact(Json(text));
}

// Appends the text that json_number() dumps to.
void append_number(std::string& text, double value) {
  if (!std::isfinite(value)) {
    text.append(compact(json_number(value)));
    return;
  }
  char digits[64];
  text.append(digits, nlohmann::detail::to_chars(std::begin(digits), std::end(digits), value));
}

// Appends a list of the number that `value` returns for each report.
template <typename Value>
void append_list(std::string& text, std::span<const NumberedReport> reports, Value value) {
  char separator = '[';
  for (const NumberedReport& each : reports) {
    text.push_back(separator);
    append_number(text, value(each.report));
    separator = ',';
  }
  text.push_back(']');
}

void append_metrics(std::string& text, std::span<const NumberedReport> reports) {
  const auto& first = reports.front().report.metrics;
  text.push_back('{');
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (i > 0) text.push_back(',');
    text.append(quoted(first[i].first)).push_back(':');
    append_list(text, reports, [i](const event::Reported& e) { return e.metrics[i].second; });
  }
  text.push_back('}');
}

void append_gaps(std::string& text, std::span<const NumberedReport> reports) {
  for (std::size_t i = 1; i < reports.size(); ++i) {
    text.push_back(i == 1 ? '[' : ',');
    text.append(std::to_string(reports[i].seq - reports[i - 1].seq));
  }
  text.push_back(']');
}

std::string bests_of(std::span<const NumberedReport> reports) {
  std::string digits;
  for (const NumberedReport& each : reports) digits.push_back(each.report.is_best ? '1' : '0');
  return digits;
}

// Writes the text without a tree of Json, which took an eighth of a master's time.
std::string payload_of(std::span<const NumberedReport> reports) {
  double device_s = 0;
  for (const NumberedReport& each : reports) device_s += each.report.train_s;
  std::string text = R"({"metrics":)";
  append_metrics(text, reports);
  text.append(R"(,"work":)");
  append_list(text, reports, [](const event::Reported& e) { return e.work; });
  text.append(R"(,"train_s":)");
  append_list(text, reports, [](const event::Reported& e) { return e.train_s; });
  text.append(R"(,"device_s":)");
  append_number(text, device_s);
  const double part = reports.back().report.part;
  if (part > 0) append_number(text.append(R"(,"part":)"), part);
  if (reports.size() > 1) append_gaps(text.append(R"(,"gaps":)"), reports);
  const std::string bests = bests_of(reports);
  if (bests.find('0') != std::string::npos)
    text.append(R"(,"best":")").append(bests).push_back('"');
  return text.append("}");
}

tl::unexpected<Error> malformed(std::string_view field) {
  return fail(ErrorCode::kStorage, fmt::format("malformed reports: no valid '{}'", field));
}

// Gives the numbers of a list to `take`, with their places. Returns false if the list is not one of
// `count` numbers.
template <typename Take>
bool read_numbers(const Json& list, std::size_t count, Take take) {
  if (!list.is_array() || list.size() != count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = number_in_json(list[i]);
    if (!number) return false;
    take(i, *number);
  }
  return true;
}

// Fills in the metrics of the reports.
bool read_metrics(const Json& metrics, std::span<NumberedReport> reports) {
  if (!metrics.is_object()) return false;
  for (const auto& metric : metrics.get_ref<const Json::object_t&>()) {
    const auto take = [&](std::size_t i, double value) {
      reports[i].report.metrics.emplace_back(metric.first, value);
    };
    if (!read_numbers(metric.second, reports.size(), take)) return false;
  }
  return true;
}

bool read_field(const Json& list, std::span<NumberedReport> reports,
                double event::Reported::*field) {
  return read_numbers(list, reports.size(),
                      [&](std::size_t i, double value) { reports[i].report.*field = value; });
}

bool read_bests(const Json& digits, std::span<NumberedReport> reports) {
  if (!digits.is_string()) return false;
  const auto& text = digits.get_ref<const std::string&>();
  if (text.size() != reports.size() || text.find_first_not_of("01") != std::string::npos)
    return false;
  for (std::size_t i = 0; i < reports.size(); ++i) reports[i].report.is_best = text[i] == '1';
  return true;
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
  return {.kind = "reported",
          .trial = static_cast<std::int64_t>(last.trial),
          .attempt = last.attempt,
          .epoch = last.epoch,
          .step = last.step,
          .copy = static_cast<std::int64_t>(reports.size()),
          .payload = payload_of(reports)};
}

Result<std::vector<NumberedReport>> reports_of(const EventRow& row, std::int64_t seq) {
  const bool is_run = row.copy > 1;
  if (row.copy < 1 || (is_run && (row.copy > row.epoch || row.step % row.epoch != 0)))
    return malformed("copy");
  const Json fields = json_or_discarded<Json>(row.payload);
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
  const Json missing;
  const auto field = [&](const char* key) -> const Json& {
    const auto found = fields.find(key);
    return found != fields.end() ? *found : missing;
  };
  if (!read_metrics(field("metrics"), reports)) return malformed("metrics");
  if (!read_field(field("work"), reports, &event::Reported::work)) return malformed("work");
  if (!read_field(field("train_s"), reports, &event::Reported::train_s))
    return malformed("train_s");
  if (is_run && !read_seqs(field("gaps"), reports)) return malformed("gaps");
  if (fields.contains("best") && !read_bests(fields["best"], reports)) return malformed("best");
  if (fields.contains("part")) {
    const auto part = number_in_json(fields["part"]);
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
