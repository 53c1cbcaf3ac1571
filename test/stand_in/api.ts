/**
 * A stand-in for the model API on this machine, so that the real claude runs
 * without an account. The shape of requests and answers is that of the public
 * Messages API; the headers of a limit are those that the CLI reads.
 */

/** The windows of the usage limit that a refusal can name. */
export const windows = [
  "five_hour",
  "seven_day",
  "seven_day_opus",
  "seven_day_sonnet",
  "seven_day_overage_included",
  "overage",
] as const;

/** Refusals without the headers of a limit: status, type and message. */
const refusals: Record<string, [number, string, string]> = {
  throttle: [429, "rate_limit_error", "Too many requests."],
  overloaded: [529, "overloaded_error", "Overloaded"],
  server: [500, "api_error", "Internal server error"],
  auth: [401, "authentication_error", "OAuth token has expired."],
  credit: [
    400,
    "invalid_request_error",
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
  ],
};

/**
 * What the API does with a request: refuses it for a window, an entry of the
 * table above, or `spend`; answers (`ok`); wants a tool (`tools`), or wants one
 * and then refuses (`tool-then-five_hour`); never answers (`hang`).
 */
export type Behaviour =
  | (typeof windows)[number]
  | "throttle"
  | "overloaded"
  | "server"
  | "auth"
  | "credit"
  | "spend"
  | "ok"
  | "tools"
  | "tool-then-five_hour"
  | "hang";

/** The API; it stops at the end of its scope. */
export class Api implements AsyncDisposable {
  /** May be changed between requests. */
  behaviour: Behaviour = "ok";
  /** The text of a good answer. */
  answer = "hello";
  /** When the limit resets, epoch seconds. */
  resetAt = 0;
  /** Requests for a message so far. */
  requests = 0;
  readonly #hanging = new Set<() => void>();
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => this.#handle(request),
  );

  /** For ANTHROPIC_BASE_URL. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const release of this.#hanging) release();
    await this.#server.shutdown();
  }

  async #handle(request: Request): Promise<Response> {
    const body = await request.text();
    if (request.method === "HEAD") return new Response();
    if (new URL(request.url).pathname !== "/v1/messages") {
      return failure(404, "not_found_error", "Not found");
    }
    this.requests++;
    const { stream, model, messages } = JSON.parse(body);
    let behaviour = this.behaviour;
    if (behaviour === "hang") {
      await new Promise<void>((resolve) => this.#hanging.add(resolve));
      return failure(500, "api_error", "Gave up");
    }
    if (behaviour === "tool-then-five_hour") {
      const went = JSON.stringify(messages).includes('"tool_result"');
      behaviour = went ? "five_hour" : "tools";
    }
    const refusal = refusals[behaviour];
    if (refusal !== undefined) return failure(...refusal);
    if (behaviour === "spend") {
      const at = new Date(this.resetAt * 1000).toISOString();
      return failure(
        400,
        "invalid_request_error",
        `You have reached your specified API usage limits. You will regain access on ${
          at.slice(0, 10)
        } at ${at.slice(11, 16)} UTC.`,
      );
    }
    if (behaviour === "ok" || behaviour === "tools") {
      const message = this.#message(model, behaviour === "tools");
      const headers = this.#limitHeaders("allowed", "five_hour");
      return stream
        ? new Response(events(message), {
          headers: { ...headers, "content-type": "text/event-stream" },
        })
        : Response.json(message, { headers });
    }
    return failure(
      429,
      "rate_limit_error",
      "This request would exceed your account's rate limit. Please try again later.",
      this.#limitHeaders("rejected", behaviour),
    );
  }

  #limitHeaders(status: string, claim: string): Record<string, string> {
    const window = claim === "five_hour" ? "5h" : "7d";
    const fields = {
      status,
      reset: this.resetAt,
      "representative-claim": claim,
      [`${window}-status`]: status,
      [`${window}-reset`]: this.resetAt,
      [`${window}-utilization`]: status === "rejected" ? "1.0" : "0.2",
      "overage-status": "rejected",
      "overage-disabled-reason": "org_level_disabled",
    };
    return Object.fromEntries(
      Object.entries(fields).map((
        [name, value],
      ) => [`anthropic-ratelimit-unified-${name}`, String(value)]),
    );
  }

  #message(model: string, tool: boolean): Message {
    const content: Block[] = [{ type: "text", text: this.answer }];
    if (tool) {
      const input = { command: "true", description: "Nothing" };
      const id = `toolu_${this.requests}`;
      content.push({ type: "tool_use", id, name: "Bash", input });
    }
    return {
      id: `msg_${this.requests}`,
      type: "message",
      role: "assistant",
      model,
      content,
      stop_reason: tool ? "tool_use" : "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 100_000, output_tokens: 5000 },
    };
  }
}

type Block =
  | { type: "text"; text: string }
  | { type: "tool_use"; id: string; name: string; input: unknown };

interface Message {
  id: string;
  type: "message";
  role: "assistant";
  model: string;
  content: Block[];
  stop_reason: string | null;
  stop_sequence: null;
  usage: { input_tokens: number; output_tokens: number };
}

/** A message as the server-sent events of a stream. */
function events(message: Message): string {
  const { content, usage, stop_reason, stop_sequence } = message;
  const blocks = content.flatMap((block, index) => {
    const [content_block, delta] = block.type === "text"
      ? [{ ...block, text: "" }, { type: "text_delta", text: block.text }]
      : [
        { ...block, input: {} },
        {
          type: "input_json_delta",
          partial_json: JSON.stringify(block.input),
        },
      ];
    return [
      { type: "content_block_start", index, content_block },
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    ];
  });
  const start = { ...message, content: [], stop_reason: null };
  return [
    { type: "message_start", message: start },
    ...blocks,
    { type: "message_delta", delta: { stop_reason, stop_sequence }, usage },
    { type: "message_stop" },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
}

function failure(
  status: number,
  type: string,
  message: string,
  headers: Record<string, string> = {},
): Response {
  return Response.json(
    { type: "error", error: { type, message }, request_id: "req_1" },
    { status, headers: { ...headers, "x-should-retry": "false" } },
  );
}
