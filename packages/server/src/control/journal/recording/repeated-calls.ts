/** Clients that poll get one kept answer again and again: apart from its times, such a call is recorded letter for letter like the last. */
import type { EndedCall } from '../../../core/recording/recording.ts'
import type { Trace } from '../../../core/recording/trace.ts'
import type { CallText } from '../protocol.ts'

interface Repeated extends Pick<CallText, 'own' | 'answer'> {
  readonly path: string
  readonly bytes: Uint8Array
}

/** By the trace of the call whose answer was kept. */
const latest = new WeakMap<Trace, Repeated>()

/** A request id, rates and names of the other profile differ from call to call. */
const keptTrace = ({ request, outcome }: EndedCall, trace: Trace): Trace | undefined =>
  request.headers.requestId === undefined &&
  trace.rewrites === undefined &&
  outcome?.reply.headers?.['X-Api-Ratelimit-Limit'] === undefined
    ? trace.keptFrom
    : undefined

export function repeatedText(call: EndedCall, trace: Trace): Repeated | undefined {
  const kept = keptTrace(call, trace)
  const repeated = kept && latest.get(kept)
  return repeated !== undefined && repeated.bytes === call.bytes && repeated.path === call.path ? repeated : undefined
}

export function keepForRepeats(call: EndedCall, trace: Trace, { own, answer }: CallText): void {
  const kept = keptTrace(call, trace)
  const { path, bytes } = call
  if (kept !== undefined && bytes !== undefined) latest.set(kept, { own, answer, path, bytes })
}
