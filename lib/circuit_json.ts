import type { Circuit, Opener } from "./circuit.ts";
import {
  type Fields,
  instantOr,
  isFields,
  mapOf,
  stringOr,
  unknownFields,
} from "./lenient.ts";
import { reasonWord } from "./marker.ts";

/** A day more than the circuit is ever opened for. */
const FARTHEST_BELIEVED = 33 * 86_400;
const FIELDS = [
  "open_until",
  "opened_at",
  "closed_at",
  "hold",
  "reason",
  "window",
  "opened_by",
  "last_priority_probe",
  "scopes",
  "suspects",
];

/** A closed circuit without a history. */
export function closedCircuit(): Circuit {
  return parseCircuit({}, 0);
}

function parseOpener(value: unknown): Opener | null {
  if (!isFields(value)) return null;
  return {
    job: stringOr(value.job, null),
    sentence: stringOr(value.sentence, ""),
  };
}

/** An end that lies too far ahead to be true closes. */
function believable(until: number, now: number): number {
  return until > now + FARTHEST_BELIEVED ? 0 : until;
}

/** Reads the fields of `state.json`, each for itself: a bad one is repaired, the rest stays. */
export function parseCircuit(json: Fields, now: number): Circuit {
  const open_until = believable(instantOr(json.open_until, 0), now);
  return {
    open_until,
    opened_at: instantOr(json.opened_at, 0),
    closed_at: instantOr(json.closed_at, 0),
    hold: json.hold === true
      ? open_until
      : believable(instantOr(json.hold, 0), now),
    reason: reasonWord(stringOr(json.reason, ""), "quota"),
    window: stringOr(json.window, null),
    opened_by: parseOpener(json.opened_by),
    last_priority_probe: instantOr(json.last_priority_probe, 0),
    scopes: mapOf(json.scopes, (entry) => {
      if (!isFields(entry)) return null;
      const until = believable(instantOr(entry.open_until, 0), now);
      const family = entry.family;
      return until <= now ? null : {
        open_until: until,
        opened_at: instantOr(entry.opened_at, 0),
        family: family === "opus" || family === "sonnet" || family === "fable"
          ? family
          : "account",
        opened_by: parseOpener(entry.opened_by),
      };
    }),
    suspects: mapOf(json.suspects, (at) => instantOr(at, null)),
    rest: unknownFields(json, FIELDS),
  };
}

/** The JSON of `state.json`. */
export function circuitJson(circuit: Circuit): Fields {
  const { rest, scopes, suspects, ...fields } = circuit;
  return {
    ...fields,
    scopes: Object.fromEntries(scopes),
    suspects: Object.fromEntries(suspects),
    ...Object.fromEntries(rest),
  };
}
