/**
 * One item of a batch: `worker.ts item|run LOG CAP LENGTH`. With `item` the cap
 * is that of the item; with `run` it is that of all items of a run, and passing
 * it ends guard and worker by SIGKILL.
 */
import { bodyOf, CHARGES, Meter, writeInHalves } from "./charges.ts";

const [scope, log = "", cap, length] = Deno.args;
const own = scope === "item";
const { QUOTA_ITEM: item = "", QUOTA_PART: part = "" } = Deno.env.toObject();

const meter = new Meter(own ? `${log}.${item}` : log, Number(cap), () => {
  if (!own) Deno.kill(Deno.ppid, "SIGKILL");
  Deno.exit(9);
});
// The item before this one is committed by now.
if (!own && meter.used) meter.charge(CHARGES.committed);
meter.charge(CHARGES.planned);
meter.charge(CHARGES.generated);
writeInHalves(
  part,
  bodyOf(item, Number(length)),
  () => meter.charge(CHARGES.halfWritten),
);
meter.charge(CHARGES.written);
if (own) meter.charge(CHARGES.committed);
