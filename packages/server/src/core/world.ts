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
  ServiceTls,
  Snapshots,
  Tasks,
} from './ports.ts'
import type { Router } from './router.ts'
import type { TrackingClock } from './time/clock.ts'

/** `D`: the drivers, fixed in `domains/context.ts`. */
export interface World<D> {
  readonly tenantId: string
  readonly clock: TrackingClock
  readonly ids: Ids
  readonly drivers: D
  readonly secrets: SecretReader
  readonly services: Services
}

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
  /** undefined: plain HTTP, or a world other than `default`. */
  readonly serviceTls: ServiceTls | undefined
  publicUrl(): string
  readonly addressGuard: AddressGuard
  readonly registrationGuard: AddressGuard
  /** For receivers of traps, log lines and flows: only addresses that `--allow-address` opens. */
  readonly receiverGuard: AddressGuard
  readonly snapshots: Snapshots
  readonly restores: Restores
  readonly tier: Tier
  /** Refuses VMs that would take memory needed after a failure of the largest host. */
  readonly reservesForHa: boolean
  readonly version: string
  readonly dataFolder: string
  readonly limits: Readonly<Record<string, number>>
}

export interface SecretReader {
  open(kind: string, extId: string, path: string, value: unknown): string | undefined
}
