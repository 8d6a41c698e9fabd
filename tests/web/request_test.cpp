// Who may ask a server of this program.

#include "web/request.h"

#include <gtest/gtest.h>

namespace detol::web {
namespace {

const ServedAt kHere{"127.0.0.1", 8090};
const ServedAt kNamed{"node7", 8090};

TEST(RequestHost, IsThisMachineOrTheHostThatWasAskedForWithThePort) {
  for (const char* ours : {"127.0.0.1:8090", "localhost:8090", "LocalHost:8090"})
    EXPECT_TRUE(is_our_host(ours, kHere)) << ours;
  EXPECT_TRUE(is_our_host("node7:8090", kNamed));
  EXPECT_TRUE(is_our_host("[::1]:8090", {"::1", 8090}));
  for (const char* foreign :
       {"", "127.0.0.1", "localhost:8091", "evil.example:8090", "127.0.0.1:8090.evil.example",
        "localhost:8090@evil", "127.0.0.1.evil:8090", "node7:8090", " localhost:8090", "x:8090"})
    EXPECT_FALSE(is_our_host(foreign, kHere)) << foreign;
}

TEST(RequestOrigin, IsAPageOfTheServerItself) {
  EXPECT_TRUE(is_our_origin("http://localhost:8090", kHere));
  for (const char* foreign :
       {"", "null", "https://localhost:8090", "http://localhost", "http://evil.example:8090",
        "http://localhost:8090/", "localhost:8090"})
    EXPECT_FALSE(is_our_origin(foreign, kHere)) << foreign;
}

TEST(RequestToken, IsOfEitherHeaderAndMustBeEqual) {
  EXPECT_EQ(token_in("abc", "Bearer xyz"), "abc");
  EXPECT_EQ(token_in("", "Bearer xyz"), "xyz");
  EXPECT_EQ(token_in("", "Basic xyz"), "");
  EXPECT_TRUE(is_same_token("secret", "secret"));
  for (const char* wrong : {"", "secre", "secreT", "secretsecret", "Secret", "secret "})
    EXPECT_FALSE(is_same_token(wrong, "secret")) << wrong;
}

TEST(RequestToken, ANewOneHas32BytesAndDiffersFromTheLast) {
  const std::string token = new_token().value();
  EXPECT_EQ(token.size(), 64U);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(token, new_token().value());
}

TEST(RequestLoopback, IsThisMachinesOwnDevice) {
  for (const char* own : {"127.0.0.1", "127.1.2.3", "localhost", "::1"})
    EXPECT_TRUE(is_loopback(own)) << own;
  for (const char* open : {"0.0.0.0", "::", "node7", "127.0.0.1.evil.example", "10.0.0.1", ""})
    EXPECT_FALSE(is_loopback(open)) << open;
}

TEST(RequestForeign, IsAnotherHostOrAnotherOrigin) {
  HttpRequest request{.method = "GET", .path = "/", .host = "localhost:8090"};
  EXPECT_EQ(foreign(request, kHere), "") << "a program sends no Origin";
  request.origin = "http://localhost:8090";
  EXPECT_EQ(foreign(request, kHere), "");
  request.origin = "";
  EXPECT_NE(foreign(request, kHere), "");
  request.origin = "http://evil.example:8090";
  EXPECT_NE(foreign(request, kHere), "");
  request = {.method = "GET", .path = "/", .host = "evil.example:8090"};
  EXPECT_NE(foreign(request, kHere), "");
}

TEST(RequestToken, IsNewNoneOrOneOfItsOwnWords) {
  EXPECT_EQ(token_from_word("auto").value().size(), 64U);
  EXPECT_EQ(token_from_word("none").value(), "");
  EXPECT_EQ(token_from_word("0123456789abcdef").value(), "0123456789abcdef");
  for (const char* wrong :
       {"", "short", "0123456789abcde", "0123456789abcde\n", "0123456789abc\xff\xff\xff"})
    EXPECT_FALSE(token_from_word(wrong)) << wrong;
}

TEST(RequestTarget, HasAPathAsItWasSentAndDecodedParameters) {
  HttpRequest request;
  read_target("/a%2fb?study=my+study%21&page=4&&empty&x=%zz%4&y=a=b", request);
  EXPECT_EQ(request.path, "/a%2fb");
  EXPECT_EQ(request.parameters, (std::multimap<std::string, std::string>{{"study", "my study!"},
                                                                         {"page", "4"},
                                                                         {"", ""},
                                                                         {"empty", ""},
                                                                         {"x", "%zz%4"},
                                                                         {"y", "a=b"}}));
}

}  // namespace
}  // namespace detol::web
