#include "models/prediction_server.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/log.h"
#include "printing/output.h"
#include "web/http_server.h"

namespace detol::inline models {
namespace {

using JsonBody = nlohmann::json;

constexpr std::size_t kLargestBody = std::size_t{16} << 20;
constexpr std::size_t kMostValues = 1'000'000;  // of JSON, whose values take 60 times their bytes
constexpr std::int64_t kMostRowsAtOnce = 100'000;

// BodyFile: a body as a file in memory, since the readers read files.
class BodyFile {
 public:
  // Errors (kStorage): there is no memory for it.
  static Result<BodyFile> of(std::string_view body) {
    BodyFile made(::memfd_create("body", MFD_CLOEXEC));
    while (made.file_ >= 0 && !body.empty()) {
      const ssize_t written = ::write(made.file_, body.data(), body.size());
      if (written < 0) return fail(ErrorCode::kStorage, "there is no memory for the body");
      body.remove_prefix(static_cast<std::size_t>(written));
    }
    if (made.file_ >= 0) return made;
    return fail(ErrorCode::kStorage, "there is no memory for the body");
  }
  ~BodyFile() {
    if (file_ >= 0) ::close(file_);
  }
  BodyFile(BodyFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  BodyFile& operator=(BodyFile&&) = delete;

  std::filesystem::path path() const { return fmt::format("/proc/self/fd/{}", file_); }

 private:
  explicit BodyFile(int file) : file_(file) {}
  int file_ = -1;
};

// Returns a value of JSON as a cell of a CSV file, numbers with its decimal sign.
Result<std::string> cell_of(const JsonBody& value, const TableDialect& dialect) {
  if (value.is_null()) return std::string();
  if (value.is_number() || value.is_boolean()) {
    std::string number = compact(value);
    std::ranges::replace(number, '.', dialect.decimal);
    return number;
  }
  if (!value.is_string())
    return fail(ErrorCode::kInput, "a row's values must be numbers, texts or null");
  std::string cell = "\"";
  for (const char c : value.get<std::string>()) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + '"';
}

// Returns a truth value as the column's table spells it (True, TRUE), everything else as it is.
JsonBody spelled_as_in(const TableColumn& column, const JsonBody& value) {
  const auto category = value.is_boolean() ? column.category_spelled(compact(value)) : std::nullopt;
  return category ? JsonBody(*category) : value;
}

// Returns the row as a line of a CSV file of the network's columns.
Result<std::string> line_of(const JsonBody& row, const TableEncoder& table,
                            const TableDialect& dialect) {
  if (!row.is_object()) return fail(ErrorCode::kInput, "a row must be a JSON object");
  std::string line;
  for (const TableColumn& column : table.columns) {
    const auto found = row.find(column.name);
    if (found == row.end())
      return fail(ErrorCode::kInput, fmt::format("a row has no {}", compact(JsonBody(column.name))));
    DETOL_ASSIGN(const std::string cell, cell_of(spelled_as_in(column, *found), dialect));
    if (&column != &table.columns.front()) line += dialect.separator;
    line += cell;
  }
  return line + "\n";
}

// Returns the rows, or the one row, as a CSV file of the network's columns, in the dialect that it
// reads first.
Result<std::string> csv_of(const JsonBody& rows, const TableEncoder& table) {
  const TableDialect dialect = table.dialect.value_or(TableDialect{});
  std::string text;
  for (const TableColumn& column : table.columns) {
    DETOL_ASSIGN(const std::string name, cell_of(column.name, dialect));
    if (!text.empty()) text += dialect.separator;
    text += name;
  }
  text += '\n';
  if (!rows.is_array()) {
    DETOL_ASSIGN(const std::string line, line_of(rows, table, dialect));
    return text + line;
  }
  for (const JsonBody& row : rows) {
    DETOL_ASSIGN(const std::string line, line_of(row, table, dialect));
    text += line;
  }
  return text;
}

bool is_picture(std::string_view body) {
  return body.starts_with("\x89PNG") || body.starts_with("\xff\xd8");
}

std::string usage(const Predictor& predictor) {
  const Preprocessing& data = predictor.preprocessing();
  std::string text = "POST what detol predict --data reads: ";
  if (!data.table) return text + "a picture (PNG or JPEG), or a .npy array\n";
  text += "a CSV file, or JSON rows, of the columns";
  for (const TableColumn& column : data.table->columns) text += ' ' + compact(JsonBody(column.name));
  return text + "\n";
}

class PredictionServer final : public HttpHandler {
 public:
  PredictionServer(const Predictor& predictor, std::string token)
      : predictor_(predictor), token_(std::move(token)) {}

  Result<void> bind(std::uint16_t port) {
    DETOL_ASSIGN(server_, HttpServer::listen(*this, {.at = {"127.0.0.1", port},
                                                     .threads = 1,
                                                     .largest_body = kLargestBody}));
    return {};
  }
  HttpServer& server() { return *server_; }

  std::optional<HttpResponse> answer_head(const HttpRequest& head) override {
    if (const auto why = foreign(head, server_->served_at()); !why.empty())
      return refused(403, why);
    if (!token_.empty() && !is_same_token(head.token, token_))
      return refused(401,
                     "the token is missing or wrong; send the header `Authorization: Bearer TOKEN` "
                     "with the one that `detol predict --serve` printed");
    if (head.method == "GET") return HttpResponse{.type = "text/plain", .body = usage(predictor_)};
    if (head.method != "POST") return refused(405, "only GET and POST are answered");
    return std::nullopt;
  }

  HttpResponse answer(const HttpRequest& request) override {
    const auto rows = answer_body(predictor_, request.body);
    if (!rows) return refused(400, rows.error().message);
    return {.body = render(*rows, {.format = Format::kJson}).value()};  // no columns are chosen
  }

 private:
  const Predictor& predictor_;
  const std::string token_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace

Result<Rows> answer_body(const Predictor& predictor, const std::string& body) {
  const Preprocessing& data = predictor.preprocessing();
  std::string rows;  // a CSV file of JSON
  const std::size_t begin = body.find_first_not_of(" \t\r\n");
  if (data.table && begin != std::string::npos && (body[begin] == '{' || body[begin] == '[')) {
    DETOL_ASSIGN(const JsonBody read, parse_json(body, "the body", {.values = kMostValues}));
    DETOL_ASSIGN(rows, csv_of(read, *data.table));
  }
  DETOL_ASSIGN(const BodyFile file, BodyFile::of(rows.empty() ? body : rows));
  const auto without_path = [&](const Error& error) {
    Error named = error;
    const std::string path = file.path().string();
    if (named.message.starts_with(path)) named.message.replace(0, path.size(), "the body");
    return named;
  };
  auto reader = open_inputs(file.path(), is_picture(body), data);
  if (!reader) return tl::unexpected(without_path(reader.error()));
  auto inputs = (*reader)->next(kMostRowsAtOnce + 1);
  if (!inputs) return tl::unexpected(without_path(inputs.error()));
  if (inputs->count() > kMostRowsAtOnce)
    return fail(ErrorCode::kInput, fmt::format("the body has more than {} rows", kMostRowsAtOnce));
  if (is_picture(body)) inputs->names.assign(inputs->names.size(), "1");  // not the body's file
  return predictor.answer(*inputs);
}

Result<void> serve_predictions(const Predictor& predictor, std::uint16_t port,
                               const std::string& token) {
  PredictionServer server(predictor, token);
  DETOL_TRY(server.bind(port));
  const std::string url = "http://" + authority_of(server.server().served_at()) + "/";
  if (!token.empty())
    fmt::print("curl -H 'Authorization: Bearer {}' --data-binary @FILE {}\n", token, url);
  std::fflush(stdout);
  log_info("answering on {} ; ctrl-C ends it", url);
  server.server().run();
  return {};
}

}  // namespace detol::inline models
