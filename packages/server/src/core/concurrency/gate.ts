/**
 * The way of requests to whoever answers them, which may be closed while another one takes its place.
 * Source: behaviour platform.md 9 (switch).
 */
import { ApiError } from '../api-error.ts'
import { type ApiRequest, type Dispatch, type Outcome, RefusedRequest } from '../pipeline/request.ts'
import type { CanonicalNames } from '../ports.ts'

export interface Gate {
  readonly dispatch: Dispatch
  /** From now on this one answers; whoever waits goes on. */
  open(dispatch: Dispatch): void
  /** Refuses all but reads of these tasks. Resolves when no request is under way. */
  refuse(taskExtIds: readonly string[]): Promise<void>
  /** Takes `refuse` back. */
  admit(): void
  /** What is not refused waits for the next `open`. Resolves when no request is under way. */
  hold(): Promise<void>
}

const oneTask = /^\/platform\/v4\.\d+\/config\/tasks\/([^/]+)$/
const retryAfterSeconds = 2

export function createGate(names: CanonicalNames): Gate {
  let target: Dispatch | undefined
  let opened = Promise.withResolvers<void>()
  /** Tasks that may be read; undefined: nothing is refused. */
  let readableTasks: ReadonlySet<string> | undefined
  let underWay = 0
  /** Told when the last one that is under way has ended. */
  const drains: (() => void)[] = []

  const isReadableTask = ({ method, path, profile }: ApiRequest): boolean => {
    const [, written] = oneTask.exec(path) ?? []
    const extId = written === undefined ? undefined : names.taskId(profile, decoded(written))
    return (method === 'GET' || method === 'HEAD') && extId !== undefined && readableTasks?.has(extId) === true
  }
  const drained = async (): Promise<void> => {
    while (underWay > 0) await new Promise<void>((resolve) => drains.push(resolve))
  }
  const leave = (): void => {
    underWay--
    if (underWay === 0) for (const drained of drains.splice(0)) drained()
  }
  const enter = (request: ApiRequest, dispatch: Dispatch): Promise<Outcome> => {
    const answer = dispatch(request)
    underWay++
    answer.then(leave, leave)
    return answer
  }
  const wait = async (request: ApiRequest): Promise<Outcome> => {
    for (;;) {
      if (readableTasks !== undefined && !isReadableTask(request)) throw refusal()
      // Nothing comes between: what is let in is counted.
      if (target !== undefined) return enter(request, target)
      await opened.promise
    }
  }
  return {
    // Nearly always it is open: the answer comes without a detour.
    dispatch: (request) =>
      readableTasks === undefined && target !== undefined ? enter(request, target) : wait(request),
    open(dispatch) {
      readableTasks = undefined
      target = dispatch
      opened.resolve()
    },
    refuse(taskExtIds) {
      readableTasks = new Set(taskExtIds)
      return drained()
    },
    admit() {
      readableTasks = undefined
    },
    hold() {
      // Whoever waits already goes on waiting for the same.
      if (target !== undefined) opened = Promise.withResolvers()
      target = undefined
      return drained()
    },
  }
}

function refusal(): RefusedRequest {
  const error = new ApiError('SERVICE_UNAVAILABLE', { fault: 'A restore is about to end: ask again in a moment.' })
  error.headers['Retry-After'] = String(retryAfterSeconds)
  return new RefusedRequest(error, undefined, undefined, {})
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
