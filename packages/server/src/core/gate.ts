/**
 * The way of requests to whoever answers them, which may be closed while another one takes its place.
 * Source: behaviour platform.md 9 (switch).
 */
import { ApiError } from './api-error.ts'
import { type ApiRequest, type Dispatch, type Outcome, RefusedRequest } from './pipeline/request.ts'
import type { CanonicalNames } from './ports.ts'

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
  let shown: ReadonlySet<string> | undefined
  const underWay = new Set<Promise<unknown>>()

  const isShown = ({ method, path, profile }: ApiRequest): boolean => {
    const [, written] = oneTask.exec(path) ?? []
    const extId = written === undefined ? undefined : names.taskId(profile, decoded(written))
    return (method === 'GET' || method === 'HEAD') && extId !== undefined && shown?.has(extId) === true
  }
  const drained = async (): Promise<void> => {
    while (underWay.size > 0) await Promise.allSettled([...underWay])
  }
  return {
    async dispatch(request) {
      const refuseOthers = (): void => {
        if (shown !== undefined && !isShown(request)) throw refusal()
      }
      refuseOthers()
      while (target === undefined) {
        await opened.promise
        refuseOthers()
      }
      // Nothing comes between: what is let in is counted.
      const answer: Promise<Outcome> = target(request)
      underWay.add(answer)
      try {
        return await answer
      } finally {
        underWay.delete(answer)
      }
    },
    open(dispatch) {
      shown = undefined
      target = dispatch
      opened.resolve()
    },
    refuse(taskExtIds) {
      shown = new Set(taskExtIds)
      return drained()
    },
    admit() {
      shown = undefined
    },
    hold() {
      target = undefined
      opened = Promise.withResolvers()
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
