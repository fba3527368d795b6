/** The shared parts of one world: clock, ids, drivers, and the services of the machinery. */
import type { AddressGuard } from './access/address-guard.ts'
import type { Passwords } from './access/passwords.ts'
import type { Tier } from './access/rate-limit.ts'
import type { Ids } from './caller.ts'
import type { EntityTags } from './ids/etag.ts'
import type { Dispatch } from './pipeline/request.ts'
import type {
  AccessControl,
  Authenticator,
  CanonicalNames,
  ClientCertificates,
  Restores,
  ServiceIdentity,
  Snapshots,
  Tasks,
} from './ports.ts'
import type { Router } from './router.ts'
import type { TrackingClock } from './time/clock.ts'

/** `D`: the drivers of the outside world, fixed in `domains/context.ts`. */
export interface World<D> {
  readonly tenantId: string
  readonly clock: TrackingClock
  readonly ids: Ids
  readonly drivers: D
  readonly secrets: SecretReader
  readonly services: Services
}

/** Services of the machinery, for the few kinds that are part of it (tasks, batches, domain managers). */
export interface Services {
  readonly dispatch: Dispatch
  readonly router: Router
  readonly names: CanonicalNames
  readonly runner: Tasks
  readonly tags: EntityTags
  readonly access: AccessControl
  readonly authenticator: Authenticator
  readonly clientCertificates: ClientCertificates
  readonly passwords: Passwords
  readonly identity: ServiceIdentity
  /** Origin under which clients reach this service: configured, else derived from the port. */
  publicUrl(): string
  /** Checks every host that a client names, before it is called. */
  readonly addressGuard: AddressGuard
  readonly registrationGuard: AddressGuard
  readonly snapshots: Snapshots
  readonly restores: Restores
  /** Size of this manager, which decides the rate limits. */
  readonly tier: Tier
  readonly version: string
  /** Folder for files of the world (backup places, image content). */
  readonly dataFolder: string
  /** Limits set at the start, by name; `domains/collected.ts` has the defaults. */
  readonly limits: Readonly<Record<string, number>>
}

export interface SecretReader {
  /** `value` as it is stored; undefined if there is none. */
  open(kind: string, extId: string, path: string, value: unknown): string | undefined
}
