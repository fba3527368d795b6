/** Registers a cluster or another manager. Source: behaviour platform.md 4. */
import type { ValueOf } from '@hyperplane/contract'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { Registration } from '@hyperplane/contract/platform/registration'
import type { ClusterRegistrationSpec, RemoteClusterSpec } from '@hyperplane/contract/platform/remote-cluster'
import { ApiError, invalid } from '../../core/api-error.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import { notFound } from '../../core/standard.ts'
import {
  accountName,
  type Credentials,
  isApiKey,
  type RemoteType,
  registeringInReturn,
} from '../../drivers/remote-managers.ts'
import type { WriteContext } from '../context.ts'
import { registrationOf } from '../registrations/registrations.ts'
import { type Manager, requireOwn } from './own-manager.ts'
import { registerRemote } from './register-task.ts'
import { RegistrationAttempt } from './registration-attempt.ts'

type Spec = ValueOf<typeof RemoteClusterSpec>
type Address = Spec['address']

export async function register(
  ctx: WriteContext<Manager>,
  { remoteCluster }: ValueOf<typeof ClusterRegistrationSpec>,
): Promise<TaskStarted> {
  const manager = ctx.target
  requireOwn(manager, 'extId')
  if ('extId' in remoteCluster) return refuseReference(ctx, manager, remoteCluster.extId)
  const type: RemoteType = 'cloudType' in remoteCluster ? 'DOMAIN_MANAGER' : 'AOS'
  const address = addressIn(remoteCluster.remoteCluster.address)
  const credentials = credentialsIn(remoteCluster.remoteCluster)
  const isInReturn = type === 'DOMAIN_MANAGER' && isApiKey(credentials)
  if (isInReturn) refuseForeignKey(manager, credentials)
  await refuseAddress(ctx, manager, address)
  const attemptExtId = ctx.ids.uuid()
  await ctx.store.touch(DomainManager, manager.extId)
  const input = {
    attemptExtId,
    address,
    type,
    ...('cloudType' in remoteCluster ? { cloudType: remoteCluster.cloudType } : {}),
    // The input of a dry run is not stored. A real task keeps the credentials in the attempt, which it deletes.
    ...(ctx.dryRun ? { credentials } : {}),
  }
  const task = await ctx.startTask(registerRemote, input, {
    operation: type === 'AOS' ? 'RegisterAOS' : 'RegisterPC',
    description: isInReturn ? registeringInReturn(address) : `Register ${address}`,
    affected: [],
    locks: [attemptExtId],
  })
  await ctx.store.insert(RegistrationAttempt, {
    extId: attemptExtId,
    address,
    taskExtId: task.extId,
    credentials,
  })
  return task
}

/** Always refuses: an id alone is known only if its owner is registered already. */
async function refuseReference(ctx: WriteContext, manager: Manager, extId: string): Promise<never> {
  if (extId === manager.extId) throw invalid('remoteCluster/extId', 'is this manager itself: name another one.')
  const existing = await registrationOf(ctx.store, extId)
  if (existing !== undefined) throw alreadyRegistered(existing.remoteClusterDetails?.name ?? extId)
  throw notFound(Registration, extId, 'remoteCluster/extId')
}

const addressPath = 'remoteCluster/remoteCluster/address'

function addressIn(address: Address): string {
  const given = [address.fqdn?.value, address.ipv4?.value, address.ipv6?.value].filter((text) => text !== undefined)
  const [only] = given
  if (only === undefined || given.length > 1)
    throw invalid(addressPath, `expected exactly one of fqdn, ipv4 and ipv6, found ${given.length}`)
  return only.toLowerCase()
}

function credentialsIn({ credentials }: Spec): Credentials {
  if (credentials === undefined) throw invalid('remoteCluster/remoteCluster/credentials', 'is required')
  return credentials.authentication
}

/** An API key is stored, unlike a password, so only the one that the remote side made for this manager is accepted. */
function refuseForeignKey(manager: Manager, { username }: Credentials): void {
  if (username === accountName(manager.extId)) return
  const fault = 'expected the password of a user there; its API key would not be forgotten'
  throw invalid('remoteCluster/remoteCluster/credentials/authentication/password', fault)
}

async function refuseAddress(ctx: WriteContext, manager: Manager, address: string): Promise<void> {
  const { externalAddress, fqdn } = manager.network
  if ([externalAddress?.ipv4?.value, externalAddress?.ipv6?.value, fqdn].includes(address))
    throw invalid(addressPath, `${address} is this manager itself: name another one.`)
  // Host names are checked when they are called: a DNS query would block every writer here.
  const refusal = ctx.drivers.remoteManagers.knows(address)
    ? undefined
    : ctx.services.registrationGuard.refusalOf(address)
  if (refusal !== undefined) throw invalid(addressPath, `${refusal}.`)
  const existing = (await ctx.store.find(Registration)).find((row) => row.address === address)
  if (existing !== undefined) throw alreadyRegistered(existing.remoteClusterDetails?.name ?? address)
  const running = await ctx.store.findOne(RegistrationAttempt, { address })
  if (running !== undefined)
    throw new ApiError('ENTITY_BUSY', { kind: 'registration of', name: address, taskExtId: running.taskExtId })
}

export const alreadyRegistered = (name: string): ApiError => new ApiError('REMOTE_ALREADY_REGISTERED', { name })
