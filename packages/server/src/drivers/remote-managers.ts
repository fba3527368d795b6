/**
 * Calls to remote clusters and managers. The certificate of the first contact is pinned, and verified before credentials are sent.
 * Source: behaviour platform.md 4, 6, 12.
 */

import { apiKeyPrefix } from '@hyperplane/contract/iam/key'
import { names } from '@hyperplane/contract/names'
import { DriverError } from '../core/tasks/define-task.ts'
import type { RemoteNetworks } from './remote-networks.ts'

export type RemoteType = 'AOS' | 'DOMAIN_MANAGER'

export interface RemotePlace {
  readonly address: string
  /** SHA-256 of the certificate, in hex. */
  readonly certificate: string
}

export interface Credentials {
  readonly username: string
  /** The password of a person, or the API key of a service account. */
  readonly password: string
}

export interface RemoteSide {
  readonly extId: string
  readonly name: string
  readonly type: RemoteType
  readonly version: string
  readonly nodeAddresses: readonly string[]
  /** Obstacles to a registration that the remote manager reports, as sentences. */
  readonly objections: readonly string[]
  readonly manager?: RemoteManagerConfig
}

export interface RemoteManagerConfig {
  readonly size: 'STARTER' | 'SMALL' | 'LARGE' | 'EXTRALARGE'
  readonly isHighlyAvailable: boolean
}

export interface Introduction {
  readonly extId: string
  readonly name: string
  /** For the remote manager's sign-ins here; absent for clusters, and if the remote side registers first. */
  readonly account?: Credentials
}

/** An entity without the fields that belong to a manager. */
export interface InventoryRow {
  readonly kind: string
  readonly entity: { readonly extId: string; readonly [field: string]: unknown }
}

/** Promises reject with a RemoteFault. Changing calls are idempotent. */
export interface RemoteManagers extends RemoteNetworks {
  /** Whether `watch` reports changes at this address; others must be polled. */
  knows(address: string): boolean
  /** Calls `changed` when a probe of a known address may have another result. Returns the end of the watch. */
  watch(changed: () => void): () => void
  /** Needs no credentials. `clock`: the remote time. @throws RemoteFault unreachable; certificate, when it is not valid */
  reach(address: string): Promise<{ readonly certificate: string; readonly clock: number }>
  /** @param manager the caller @throws RemoteFault authentication */
  identify(place: RemotePlace, credentials: Credentials, manager: { readonly extId: string }): Promise<RemoteSide>
  /** The remote side trusts (cluster) or registers (manager) this manager. `key`: for later sign-ins at managers. */
  exchangeTrust(
    place: RemotePlace,
    credentials: Credentials,
    introduction: Introduction,
    callKey: string,
  ): Promise<{ readonly key?: string }>
  /** Accepts either proof. Resolves also when there is no trust. */
  revokeTrust(
    place: RemotePlace,
    proof: { readonly credentials: Credentials } | { readonly key: string | undefined },
    manager: { readonly extId: string },
  ): Promise<void>
  /** Resolves if the remote side answers and still trusts this manager. */
  probe(
    place: RemotePlace,
    key: string | undefined,
    remoteExtId: string,
    manager: { readonly extId: string },
  ): Promise<void>

  inventory(clusterExtId: string): Promise<readonly InventoryRow[]>
  /** From now on the cluster keeps these rows itself; `undefined`: its manager does. */
  keepInventory(clusterExtId: string, rows: readonly InventoryRow[] | undefined): Promise<void>
}

export const remoteFaultReasons = names('authentication, certificate, refused, unreachable')
export type RemoteFaultReason = (typeof remoteFaultReasons)[number]

/** The message is for people and contains no secret. */
export class RemoteFault extends DriverError {
  readonly reason: RemoteFaultReason
  constructor(reason: RemoteFaultReason, message: string, cause?: unknown) {
    super(message, { retryable: reason === 'unreachable', cause })
    this.reason = reason
  }
}

/** The other side asked a caller with an API key to register, so the caller does not register that side in return. */
export const isApiKey = ({ password }: Credentials): boolean => password.startsWith(apiKeyPrefix)

/** The account that another manager made for this one. */
export const accountName = (managerExtId: string): string => `manager-${managerExtId}`

export const registeringInReturn = (address: string): string => `Register ${address.toLowerCase()} in return`
