#include "cli/predict_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "core/file.h"
#include "core/json_text.h"
#include "core/log.h"
#include "web/http_server.h"

namespace detol::inline cli {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestBody = std::size_t{16} << 20;
constexpr std::size_t kMostValues = 1'000'000;  // of JSON, whose values take 60 times their bytes
constexpr std::int64_t kMostRowsAtOnce = 100'000;

// BodyFile: a body in a file of its own, which is what the readers read.
class BodyFile {
 public:
  static Result<BodyFile> of(const std::string& body, const std::string& extension) {
    std::string name = (std::filesystem::temp_directory_path() / "detol-XXXXXX").string();
    name += extension;
    const int file = ::mkstemps(name.data(), static_cast<int>(extension.size()));
    if (file < 0) return fail(ErrorCode::kStorage, name + ": cannot be created");
    ::close(file);
    BodyFile made(name);
    DETOL_TRY(write_file_durably(name, body, 0600));
    return made;
  }
  ~BodyFile() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
  }
  BodyFile(BodyFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  BodyFile& operator=(BodyFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit BodyFile(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// Returns a value of JSON as a cell of a CSV file, numbers with its decimal sign.
Result<std::string> cell_of(const json& value, const TableDialect& dialect) {
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
json spelled_as_in(const TableColumn& column, const json& value) {
  const auto category = value.is_boolean() ? column.category_spelled(compact(value)) : std::nullopt;
  return category ? json(*category) : value;
}

// Returns the row as a line of a CSV file of the network's columns.
Result<std::string> line_of(const json& row, const TableEncoder& table,
                            const TableDialect& dialect) {
  if (!row.is_object()) return fail(ErrorCode::kInput, "a row must be a JSON object");
  std::string line;
  for (const TableColumn& column : table.columns) {
    const auto found = row.find(column.name);
    if (found == row.end())
      return fail(ErrorCode::kInput, fmt::format("a row has no {}", compact(json(column.name))));
    DETOL_ASSIGN(const std::string cell, cell_of(spelled_as_in(column, *found), dialect));
    if (&column != &table.columns.front()) line += dialect.separator;
    line += cell;
  }
  return line + "\n";
}

// Returns the rows, or the one row, as a CSV file of the network's columns, in the dialect that it
// reads first.
Result<std::string> csv_of(const json& rows, const TableEncoder& table) {
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
  for (const json& row : rows) {
    DETOL_ASSIGN(const std::string line, line_of(row, table, dialect));
    text += line;
  }
  return text;
}

std::string extension_of(std::string_view body) {
  if (body.starts_with("\x89PNG")) return ".png";
  if (body.starts_with("\xff\xd8")) return ".jpg";
  if (body.starts_with("\x93NUMPY")) return ".npy";
  return ".csv";
}

std::string usage(const Predictor& predictor) {
  const Preprocessing& data = predictor.preprocessing();
  std::string text = "POST what detol predict --data reads: ";
  if (!data.table) return text + "a picture (PNG or JPEG), or a .npy array\n";
  text += "a CSV file, or JSON rows, of the columns";
  for (const TableColumn& column : data.table->columns) text += ' ' + compact(json(column.name));
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
    Globals globals;
    globals.format = Format::kJson;
    return {.body = render(*rows, globals).value()};  // no columns are chosen
  }

 private:
  const Predictor& predictor_;
  const std::string token_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace

Result<Rows> answer_body(const Predictor& predictor, const std::string& body) {
  const Preprocessing& data = predictor.preprocessing();
  std::string content = body, extension = extension_of(body);
  const std::size_t begin = body.find_first_not_of(" \t\r\n");
  if (data.table && begin != std::string::npos && (body[begin] == '{' || body[begin] == '[')) {
    DETOL_ASSIGN(const json rows, parse_json(body, "the body", {.values = kMostValues}));
    DETOL_ASSIGN(content, csv_of(rows, *data.table));
    extension = ".csv";
  }
  DETOL_ASSIGN(const BodyFile file, BodyFile::of(content, extension));
  const auto without_path = [&](const Error& error) {
    Error named = error;
    const std::string path = file.path().string();
    if (named.message.starts_with(path)) named.message.replace(0, path.size(), "the body");
    return named;
  };
  auto reader = open_inputs(file.path(), data);
  if (!reader) return tl::unexpected(without_path(reader.error()));
  auto inputs = (*reader)->next(kMostRowsAtOnce + 1);
  if (!inputs) return tl::unexpected(without_path(inputs.error()));
  if (inputs->count() > kMostRowsAtOnce)
    return fail(ErrorCode::kInput, fmt::format("the body has more than {} rows", kMostRowsAtOnce));
  const bool is_picture = extension == ".png" || extension == ".jpg";
  if (is_picture) inputs->names.assign(inputs->names.size(), "1");  // not the file of the body
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

}  // namespace detol::inline cli
