// A found network answers for new data, from its study or from a file, without its training data.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/e2e/tiny_study.h"
#include "tests/support/http.h"

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;

// Sixty people: an age with gaps, a date, a colour and a label, between semicolons.
std::string people(bool has_label = true, const std::string& last = "") {
  std::string text = has_label ? "age;since;colour;target\n" : "colour;age;since\n";
  for (int i = 0; i < 60; ++i) {
    const std::string age = i % 5 == 0 ? "?" : std::to_string(i % 17) + ",5";
    const std::string since = "2024-0" + std::to_string(1 + i % 9) + "-11";
    const std::string colour = i % 3 == 0 ? "red" : "blue";
    text += has_label ? age + ";" + since + ";" + colour + (i % 2 == 0 ? ";yes\n" : ";no\n")
                      : colour + ";" + age + ";" + since + "\n";
  }
  return text + last;
}

// A study of that table that a search has ended, and whose data are gone.
struct SearchedTable {
  SearchedTable() {
    write_bytes(path() / "people.csv", people());
    EXPECT_EQ(run(path(), {"new", "table", "--data", "people.csv"}).code, 0);
    const Ran ran = run(path(), {"search", "--space", "people.yaml", "--budget", "2trials", "--set",
                                 "training.epochs=3"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    fs::remove(path() / "people.csv");
    write_bytes(path() / "new.csv", people(false));
  }
  const fs::path& path() const { return folder.path(); }
  Ran detol(const std::vector<std::string>& words) const { return run(path(), words); }

  TempFolder folder;
};

TEST(Predict, AStudyAndItsExportsGiveOneAnswerWithoutTheTrainingData) {
  const SearchedTable table;
  const Ran exported =
      table.detol({"export", "people", "--trial", "0", "--to", "all", "-o", "out", "--verify"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  EXPECT_NE(exported.err.find("outputs are compared on drawn inputs, not on data"),
            std::string::npos)
      << exported.err;
  const Ran answer = table.detol({"predict", "people", "--trial", "0", "--data", "new.csv"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(answer.out.find("input,label,probabilities.no,probabilities.yes\n1,"), 0u);
  EXPECT_EQ(std::ranges::count(answer.out, '\n'), 61);
  for (const char* file : {"out/people-trial0.onnx", "out/people-trial0.safetensors"}) {
    const Ran same = table.detol({"predict", file, "--data", "new.csv"});
    EXPECT_EQ(same.out, answer.out) << file << same.err;
  }
  const Ran lines = table.detol({"predict", "people", "--data", "new.csv", "-f", "jsonl"});
  EXPECT_EQ(std::ranges::count(lines.out, '\n'), 60);
  EXPECT_NE(lines.out.find(R"("probabilities":{"no":)"), std::string::npos) << lines.out;
}

TEST(Export, WritesACardOfWhatIsKnownBesideTheFiles) {
  const SearchedTable table;
  const auto card = [&] {
    EXPECT_EQ(table.detol({"export", "people", "--trial", "best", "--to", "json"}).code, 0);
    std::string text;
    for (const auto& entry : fs::directory_iterator(table.path())) {
      if (entry.path().extension() == ".md") text = read_file(entry.path()).value();
    }
    return text;
  };
  const std::string first = card();
  EXPECT_EQ(first.find("---\nlicense: unknown"), 0u) << first;
  EXPECT_NE(first.find("pipeline_tag: tabular-classification"), std::string::npos);
  EXPECT_NE(first.find("classification of 2 classes: no, yes"), std::string::npos) << first;
  EXPECT_NE(first.find("38 samples to train on, 10 to choose by, 12 to test on"), std::string::npos)
      << first;
  EXPECT_NE(first.find("| age | number | "), std::string::npos) << first;
  EXPECT_NE(first.find("| test_accuracy | "), std::string::npos) << "the search has measured it";
  EXPECT_NE(first.find("All trials (2 COMPLETE)"), std::string::npos) << first;
  EXPECT_NE(first.find("| lr | "), std::string::npos) << first;
  EXPECT_EQ(card(), first);
}

TEST(Predict, OfAWrongCellNamesItsPlaceAndWritesNothing) {
  const SearchedTable table;
  write_bytes(table.path() / "bad.csv", people(false, "red;old;2024-01-01\n"));
  const Ran bad = table.detol({"predict", "people", "--data", "bad.csv"});
  EXPECT_EQ(bad.code, 3);
  EXPECT_EQ(bad.out, "");
  EXPECT_NE(bad.err.find("bad.csv:62:5: 'old' is not a finite number"), std::string::npos)
      << bad.err;
  write_bytes(table.path() / "half.onnx", "half a file");
  EXPECT_EQ(table.detol({"predict", "half.onnx", "--data", "new.csv"}).code, 3);
  EXPECT_EQ(table.detol({"predict", "gone.onnx", "--data", "new.csv"}).code, 3);
  EXPECT_EQ(table.detol({"predict", "nobody", "--data", "new.csv"}).code, 4);
  EXPECT_EQ(table.detol({"predict", "people", "--data", "gone.csv"}).code, 3);
}

TEST(Predict, ImagesInTheFileThatTheyWereTestedOn) {
  const TinyStudy tiny;
  ASSERT_EQ(tiny.detol(tiny.search_words()).code, 0);
  const auto images = (tiny.path() / "images").string();
  fs::copy_file(tiny.path() / "data" / "t10k-images-idx3-ubyte", images);
  const std::string labels = read_file(tiny.path() / "data" / "t10k-labels-idx1-ubyte").value();
  const Ran tested = tiny.detol({"test", "tiny", "-f", "csv"});
  fs::remove_all(tiny.path() / "data");
  const Ran ran = tiny.detol({"predict", "tiny", "--data", images, "-f", "jsonl"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::size_t right = 0, at = 8;  // behind the header of the labels
  for (std::size_t begin = 0; begin < ran.out.size(); begin = ran.out.find('\n', begin) + 1) {
    const std::string label = R"("label":")" + std::to_string(int{labels.at(at++)}) + '"';
    const std::size_t found = ran.out.find(label, begin);
    if (found < ran.out.find('\n', begin)) ++right;
  }
  ASSERT_EQ(at, labels.size());
  const double accuracy = static_cast<double>(right) / static_cast<double>(labels.size() - 8);
  EXPECT_NE(tested.out.find(std::to_string(accuracy).substr(0, 5)), std::string::npos)
      << accuracy << tested.out;
}

constexpr const char* kKey = "0123456789abcdefghij";

std::string post(std::uint16_t port, const std::string& body, const std::string& headers = {}) {
  return ask(port, "POST / HTTP/1.1\r\nHost: localhost:" + std::to_string(port) +
                       "\r\nAuthorization: Bearer " + kKey + "\r\n" + headers +
                       "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
}

TEST(Predict, ServesAnswersToFilesAndJsonRowsUntilItIsEnded) {
  const SearchedTable table;
  const std::uint16_t port = free_port();
  Program server(table.path(),
                 {"predict", "people", "--serve", "--port", std::to_string(port), "--token", kKey});
  ASSERT_TRUE(server.says("answering on http://127.0.0.1:"));
  const std::string of_file = post(port, "colour,age,since\nred,3.5,2024-01-11\n");
  EXPECT_EQ(of_file.find("HTTP/1.1 200"), 0u) << of_file;
  const std::string row = R"({"since":"2024-01-11","age":3.5,"colour":"red"})";
  EXPECT_EQ(post(port, row), of_file);
  EXPECT_NE(post(port, "[" + row + "," + row + "]").find(R"("input": "2")"), std::string::npos);
  const std::string wrong = post(port, R"({"age":3.5,"colour":"red"})");
  EXPECT_EQ(wrong.find("HTTP/1.1 400"), 0u);
  EXPECT_NE(wrong.find(R"(a row has no \"since\")"), std::string::npos) << wrong;
  EXPECT_NE(post(port, "colour,age,since\nred,x,2024-01-11\n").find("the body:2:5: 'x'"),
            std::string::npos);
  EXPECT_EQ(ask(port, "nonsense\r\n\r\n").find("HTTP/1.1 200"), std::string::npos);
  const std::string host = "GET / HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n";
  EXPECT_EQ(ask(port, host + "\r\n").find("HTTP/1.1 401"), 0u) << "without the token";
  const std::string usage = ask(port, host + "X-Detol-Token: " + kKey + "\r\n\r\n");
  EXPECT_NE(usage.find("\"colour\""), std::string::npos) << usage;
  EXPECT_EQ(post(port, row, "Origin: http://evil.example\r\n").find("HTTP/1.1 403"), 0u);
  EXPECT_EQ(ask(port, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").find("HTTP/1.1 403"), 0u);
  const std::string deep = post(port, std::string(100'000, '['));
  EXPECT_NE(deep.find("the body is nested more than 64 deep"), std::string::npos) << deep;
  std::string rows = "[";
  for (int i = 0; i < 400'000; ++i) rows += "{},";
  EXPECT_NE(post(port, rows + "{}]").find("a row has no"), std::string::npos);
  for (int i = 0; i < 600'000; ++i) rows += "{},";
  EXPECT_NE(post(port, rows + "{}]").find("more than 1000000 values"), std::string::npos);
  EXPECT_EQ(post(port, row), of_file) << "after a request that is none";
  server.signal(SIGTERM);
  const Ran ran = server.wait();
  EXPECT_NE(ran.out.find("curl -H 'Authorization: Bearer " + std::string(kKey)), std::string::npos);
  EXPECT_EQ(ran.err.find(kKey), std::string::npos) << "the token is in no log";
}

TEST(Predict, ARawExportTakesThePixelsAsBefore) {
  const TinyStudy tiny;
  ASSERT_EQ(tiny.detol(tiny.search_words()).code, 0);
  const Ran raw = tiny.detol(
      {"export", "tiny", "--trial", "0", "--to", "onnx", "-o", "raw", "--raw", "--verify"});
  ASSERT_EQ(raw.code, 0) << raw.err;
  ASSERT_EQ(tiny.detol({"export", "tiny", "--trial", "0", "--to", "onnx", "--verify"}).code, 0);
  const std::string images = "data/t10k-images-idx3-ubyte";
  const Ran whole = tiny.detol({"predict", "tiny-trial0.onnx", "--data", images});
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_EQ(tiny.detol({"predict", "raw/tiny-trial0.onnx", "--data", images}).out, whole.out);
}

}  // namespace
}  // namespace detol::testing_support
