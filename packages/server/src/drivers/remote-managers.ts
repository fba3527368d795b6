/**
 * Calls of this manager to remote clusters and managers: reach them, identify them, exchange trust. Implemented by
 * `simulated/` for those of the world, and by `remote/` for another running Hyperplane.
 *
 * Trust is a certificate: the one that the remote side shows at first is the only one that is talked to from then on, before
 * credentials are sent as well as after. Source: behaviour platform.md 4, 6, 12.
 */
import { apiKeyPrefix } from '@hyperplane/contract/iam/key'
import { DriverError } from '../core/tasks/define-task.ts'

export type RemoteType = 'AOS' | 'DOMAIN_MANAGER'

/** Where it is, and what it must prove. */
export interface RemotePlace {
  /** An address or name. */
  readonly address: string
  /** SHA-256, in hex, of its certificate. */
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
  /** Up to three. */
  readonly nodeAddresses: readonly string[]
  /** Obstacles to a registration that the remote manager knows, as sentences. */
  readonly objections: readonly string[]
  /** Managers: how it describes itself. */
  readonly manager?: RemoteManagerConfig
}

export interface RemoteManagerConfig {
  readonly size: 'STARTER' | 'SMALL' | 'LARGE' | 'EXTRALARGE'
  readonly isHighlyAvailable: boolean
}

/** This manager, as it introduces itself. */
export interface Introduction {
  readonly extId: string
  readonly name: string
  /** Credentials for the remote manager to sign in here; absent for clusters, and if the remote side registers first. */
  readonly account?: Credentials
}

/** One row of an inventory: a kind of the contract, and an entity of it without what belongs to a manager. */
export interface InventoryRow {
  readonly kind: string
  readonly entity: { readonly extId: string; readonly [field: string]: unknown }
}

/** Every method but the first rejects with a RemoteFault. What changes something may be repeated and then changes nothing more. */
export interface RemoteManagers {
  /** Whether `watch` tells of what changes at this address; any other must be asked. Answers at once. */
  knows(address: string): boolean
  /** Calls `changed` when a probe of an address that it knows may answer something else than before; the answer ends that. */
  watch(changed: () => void): () => void
  /**
   * Connects, and tells what is seen without credentials. `clock`: its time now, in milliseconds since 1970.
   * @throws RemoteFault unreachable; certificate, when that is not valid now or not for this address
   */
  reach(address: string): Promise<{ readonly certificate: string; readonly clock: number }>
  /** Signs in and asks who it is; `manager`: who asks. @throws RemoteFault authentication */
  identify(place: RemotePlace, credentials: Credentials, manager: { readonly extId: string }): Promise<RemoteSide>
  /**
   * Makes the remote side trust this manager, with a registration of its own where it is a manager.
   * @returns what this manager signs in with from now on; nothing for clusters
   */
  exchangeTrust(
    place: RemotePlace,
    credentials: Credentials,
    introduction: Introduction,
    callKey: string,
  ): Promise<{ readonly key?: string }>
  /** Ends that trust, with whichever of the two the caller still has. Resolves also when there is none. */
  revokeTrust(
    place: RemotePlace,
    proof: { readonly credentials: Credentials } | { readonly key: string | undefined },
    manager: { readonly extId: string },
  ): Promise<void>
  /** It answers, and still trusts this manager. */
  probe(
    place: RemotePlace,
    key: string | undefined,
    remoteExtId: string,
    manager: { readonly extId: string },
  ): Promise<void>

  /** The rows of a cluster. */
  inventory(clusterExtId: string): Promise<readonly InventoryRow[]>
  /** From now on the cluster keeps this itself. `undefined`: its manager does. */
  keepInventory(clusterExtId: string, rows: readonly InventoryRow[] | undefined): Promise<void>
}

export type RemoteFaultReason = 'authentication' | 'certificate' | 'refused' | 'unreachable'

/** The remote side did not do what was asked. The message is for people and names no secret. */
export class RemoteFault extends DriverError {
  readonly reason: RemoteFaultReason
  constructor(reason: RemoteFaultReason, message: string, cause?: unknown) {
    super(message, { retryable: reason === 'unreachable', cause })
    this.reason = reason
  }
}

/** A key in place of a password. Whoever signs in with one was asked to register, and does not ask in turn. */
export const isApiKey = ({ password }: Credentials): boolean => password.startsWith(apiKeyPrefix)

/** The account that a manager has at another one, which made it. */
export const accountName = (managerExtId: string): string => `manager-${managerExtId}`

/** Name of the task that registers the manager at `address` in return for its own registration here. */
export const registeringInReturn = (address: string): string => `Register ${address.toLowerCase()} in return`
