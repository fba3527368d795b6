/** A change of a fact is judged when it is requested, even if it is scheduled for later. */
import type { Happening } from '@hyperplane/contract/control/world-happening'
import { ApiError, invalid } from '../core/api-error.ts'
import { secretDigest } from '../drivers/hardware.ts'
import { clientScope } from '../drivers/simulated/block-sessions.ts'
import { digestOfSecret, plannedChange } from '../drivers/simulated/events/drift.ts'
import { CannotHappen, catalogue, type Target } from '../drivers/simulated/events/index.ts'
import type { EventRow } from '../drivers/simulated/events/record.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'

/** Replaces the secret by its digest. @throws CannotHappen for a change that the fact does not allow */
export function judged(
  world: SimulatedWorld,
  event: Happening,
  { extId }: Target,
): Pick<EventRow, 'event' | 'secretDigest'> {
  if (event.type === 'STORAGE_CLIENT_CHANGES_SECRET') {
    const { secret, ...shown } = event
    return { event: shown, ...(secret && { secretDigest: secretDigest(clientScope(extId), secret) }) }
  }
  if (event.type !== 'FACT_CHANGES') return { event }
  const { secret, ...shown } = event
  const { kind, path } = event
  const digest = secret === undefined ? {} : { secretDigest: digestOfSecret(kind, extId, path, secret) }
  plannedChange(world, extId, { ...shown, ...digest })
  return { event: shown, ...digest }
}

export function refusalOf(error: unknown): unknown {
  if (!(error instanceof CannotHappen)) return error
  if (error.field !== undefined) return invalid(`event/${error.field}`, error.message)
  return new ApiError('WORLD_EVENT_IMPOSSIBLE', { fault: error.message })
}

/** Why a scheduled event could not happen; undefined: an error in the service. */
export const refusalText = (error: unknown): string | undefined =>
  error instanceof CannotHappen || error instanceof ApiError ? error.message : undefined

/** @throws ApiError when the event has started */
export function requireScheduled({ event, status }: EventRow): void {
  if (status === 'SCHEDULED') return
  const counterpart = catalogue[event.type].until
  const remedy = counterpart === undefined ? 'What it changed stays.' : `${counterpart} ends what it began.`
  throw new ApiError('WORLD_EVENT_HAPPENED', { type: event.type, status: status ?? '', remedy })
}
