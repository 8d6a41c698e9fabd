#include "cli/predict_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "cli/output.h"
#include "core/file.h"
#include "core/log.h"

namespace detol::inline cli {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::asio::ip::tcp;
using nlohmann::json;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

constexpr std::uint64_t kLargestBody = std::uint64_t{256} << 20;
constexpr auto kPatience = std::chrono::seconds(30);  // for the bytes of a request

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

// Returns a value of JSON as a cell of a CSV file.
Result<std::string> cell_of(const json& value) {
  if (value.is_null()) return std::string();
  if (value.is_number() || value.is_boolean()) return value.dump();
  if (!value.is_string())
    return fail(ErrorCode::kInput, "a row's values must be numbers, texts or null");
  std::string cell = "\"";
  for (const char c : value.get<std::string>()) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + '"';
}

// Returns the rows as a CSV file of the network's columns.
Result<std::string> csv_of(const json& rows, const TableEncoder& table) {
  std::string text;
  for (const TableColumn& column : table.columns) {
    DETOL_ASSIGN(const std::string name, cell_of(column.name));
    text += (text.empty() ? "" : ",") + name;
  }
  for (const json& row : rows.is_array() ? rows : json::array({rows})) {
    if (!row.is_object()) return fail(ErrorCode::kInput, "a row must be a JSON object");
    std::string line;
    for (const TableColumn& column : table.columns) {
      if (!row.contains(column.name))
        return fail(ErrorCode::kInput, fmt::format("a row has no {}", json(column.name).dump()));
      DETOL_ASSIGN(const std::string cell, cell_of(row[column.name]));
      line += (&column == &table.columns.front() ? "\n" : ",") + cell;
    }
    text += line;
  }
  return text + "\n";
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
  for (const TableColumn& column : data.table->columns) text += ' ' + json(column.name).dump();
  return text + "\n";
}

Response respond(const Predictor& predictor, const Request& request) {
  Response response{http::status::ok, request.version()};
  response.keep_alive(false);
  response.set(http::field::content_type, "application/json");
  if (request.method() == http::verb::get) {
    response.set(http::field::content_type, "text/plain");
    response.body() = usage(predictor);
  } else if (request.method() != http::verb::post) {
    response.result(http::status::method_not_allowed);
  } else if (const auto rows = answer_body(predictor, request.body())) {
    Globals globals;
    globals.format = Format::kJson;
    response.body() = render(*rows, globals).value();  // no columns are chosen
  } else {
    response.result(http::status::bad_request);
    response.body() = json({{"error", rows.error().message}})
                          .dump(-1, ' ', false, json::error_handler_t::replace) +
                      "\n";
  }
  response.prepare_payload();
  return response;
}

// Answers one request; a peer that sends none, or too much, is let go.
void answer_one(const Predictor& predictor, tcp::socket socket) {
  beast::tcp_stream stream(std::move(socket));
  beast::flat_buffer buffer;
  http::request_parser<http::string_body> parser;
  parser.body_limit(kLargestBody);
  boost::asio::io_context& context =
      static_cast<boost::asio::io_context&>(stream.get_executor().context());
  beast::error_code failed = boost::asio::error::would_block;
  stream.expires_after(kPatience);
  http::async_read(stream, buffer, parser,
                   [&](beast::error_code error, std::size_t) { failed = error; });
  context.restart();
  context.run();
  beast::error_code ignored;
  stream.expires_never();
  if (failed == http::error::body_limit) {
    http::write(stream, Response{http::status::payload_too_large, 11}, ignored);
  } else if (!failed) {
    http::write(stream, respond(predictor, parser.get()), ignored);
  }
  stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
}

}  // namespace

Result<Rows> answer_body(const Predictor& predictor, const std::string& body) {
  const Preprocessing& data = predictor.preprocessing();
  std::string content = body, extension = extension_of(body);
  const std::size_t begin = body.find_first_not_of(" \t\r\n");
  if (data.table && begin != std::string::npos && (body[begin] == '{' || body[begin] == '[')) {
    const json rows = json::parse(body, nullptr, /*allow_exceptions=*/false);
    if (rows.is_discarded()) return fail(ErrorCode::kInput, "the body is no JSON");
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
  auto inputs = (*reader)->next(std::int64_t{1} << 20);
  if (!inputs) return tl::unexpected(without_path(inputs.error()));
  const bool is_picture = extension == ".png" || extension == ".jpg";
  if (is_picture) inputs->names.assign(inputs->names.size(), "1");  // not the file of the body
  return predictor.answer(*inputs);
}

Result<void> serve_predictions(const Predictor& predictor, std::uint16_t port) {
  boost::asio::io_context context;
  beast::error_code error;
  tcp::acceptor acceptor(context);
  const tcp::endpoint here(boost::asio::ip::address_v4::loopback(), port);
  acceptor.open(here.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(here, error);
  if (!error) acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) return fail(ErrorCode::kInput, fmt::format("port {}: {}", port, error.message()));
  log_info("answering on http://127.0.0.1:{}/ ; ctrl-C ends it", acceptor.local_endpoint().port());
  for (;;) {
    tcp::socket socket = acceptor.accept(error);
    if (error) return fail(ErrorCode::kInternal, "accept: " + error.message());
    answer_one(predictor, std::move(socket));
  }
}

}  // namespace detol::inline cli
