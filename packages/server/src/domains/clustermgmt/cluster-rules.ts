/** Source: behaviour clustermgmt.md 1.2. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import { ApiError, invalid } from '../../core/api-error.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader } from '../../store/store.ts'
import { isWorking } from '../storage-space/capacity.ts'
import { blockOrRackOf, defaultAwareness } from '../storage-space/fault-tolerance.ts'

type Config = NonNullable<Cluster['config']>
type Hosts = readonly Host[]
type Hardware = Drivers['hardware']

/** Failures of hosts or drives that a cluster must survive. */
const toleranceOf: Readonly<Record<string, number>> = {
  CFT_0N_AND_0D: 0,
  CFT_1N_OR_1D: 1,
  CFT_1N_OR_1D_STRICT: 1,
  CFT_1N_AND_1D: 2,
  CFT_2N_OR_2D: 2,
  CFT_2N_OR_2D_STRICT: 2,
}

export const toleranceWord = (failures: number) =>
  (['CFT_0N_AND_0D', 'CFT_1N_OR_1D', 'CFT_2N_OR_2D'] as const)[Math.min(failures, 2)] as 'CFT_1N_OR_1D'

/** A single-node cluster keeps one copy, and can spread copies over drives only. */
export const defaultCopies = (hosts: readonly unknown[]): number => (hosts.length === 1 ? 1 : 2)

export const copiesFor = (tolerance: string): number => (toleranceOf[tolerance] ?? 1) + 1

export function configBodyFaults(given: Config): ApiError[] {
  const faults: ApiError[] = []
  const fault = (path: string, text: string): void => void faults.push(invalid(`config/${path}`, text))
  const tolerance = given.faultToleranceState?.desiredClusterFaultTolerance
  if (tolerance !== undefined && given.redundancyFactor !== undefined) {
    const copies = copiesFor(tolerance)
    if (copies !== given.redundancyFactor) {
      fault(
        'faultToleranceState/desiredClusterFaultTolerance',
        `expected to agree with redundancyFactor ${given.redundancyFactor}, found one that needs ${copies}`,
      )
    }
  }
  const names = new Set<string>()
  given.authorizedPublicKeyList?.forEach(({ name, key }, index) => {
    if (names.has(name))
      fault(`authorizedPublicKeyList[${index}]/name`, `expected a name that is not in the list yet, found "${name}"`)
    names.add(name)
    if (!isOpenSshKey(key)) {
      fault(`authorizedPublicKeyList[${index}]/key`, 'expected an OpenSSH public key, "<type> <base64> [comment]"')
    }
  })
  return faults
}

/** @param given config of the request @param next the stored config with `given` applied */
export function configFaults(given: Config, next: Config, hosts: Hosts, hardware: Hardware): ApiError[] {
  const faults: ApiError[] = []
  const fault = (path: string, text: string): void => void faults.push(invalid(`config/${path}`, text))
  const copies = next.redundancyFactor ?? defaultCopies(hosts)
  const state = given.faultToleranceState
  const functions = next.clusterFunction ?? []

  if (given.redundancyFactor !== undefined || state !== undefined) {
    const level = next.faultToleranceState?.domainAwarenessLevel ?? defaultAwareness(hosts)
    const problem = tooFewDomains(copies, level, functions, hosts, hardware)
    if (problem !== undefined) fault('redundancyFactor', problem)
  }
  if (given.operationMode === 'SWITCH_TO_TWO_NODE' && !functions.includes('TWO_NODE')) {
    fault('operationMode', 'expected SWITCH_TO_TWO_NODE on clusters of two nodes only')
  }
  return faults
}

/** Why the hosts are too few for so many copies. */
export function tooFewDomains(
  copies: number,
  level: string,
  functions: readonly string[],
  hosts: Hosts,
  hardware: Hardware,
): string | undefined {
  if (copies === 1) return undefined
  const needed = copies === 2 ? 3 : 5
  if (level === 'BLOCK' || level === 'RACK') {
    const found = new Set(hosts.map((host) => blockOrRackOf(host, level))).size
    return found >= needed
      ? undefined
      : `${copies} copies with ${level} awareness need ${needed} ${level.toLowerCase()}s; the cluster has ${found}`
  }
  if (copies === 2 && hosts.length === 2 && functions.includes('TWO_NODE')) return undefined
  if (copies === 2 && hosts.length === 1 && level === 'DISK') {
    const ssds = hardware
      .drivesOf(hosts[0]?.extId ?? '')
      .filter((drive) => isWorking(drive) && drive.tier !== 'DAS_SATA')
    return ssds.length >= 2 ? undefined : `2 copies on one host need 2 SSDs; it has ${ssds.length}`
  }
  return hosts.length >= needed ? undefined : `${copies} copies need ${needed} hosts; the cluster has ${hosts.length}`
}

/** @throws ApiError 409 for a name in use, regardless of case */
export async function requireFreeName(store: Reader, stored: Cluster, name: string): Promise<void> {
  const others = await store.find(Cluster)
  if (others.some((other) => other.extId !== stored.extId && other.name.toLowerCase() === name.toLowerCase())) {
    throw new ApiError('CLUSTER_NAME_EXISTS', { fields: 'name' })
  }
}

/** `ssh-ed25519 AAAA… comment`: the base64 part begins with the key type again. */
export function isOpenSshKey(text: string): boolean {
  const [type, encoded] = text.trim().split(/\s+/)
  if (type === undefined || encoded === undefined || !/^[a-z0-9@.-]+$/.test(type)) return false
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return false
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.length < 4) return false
  const length = bytes.readUInt32BE(0)
  return (
    length === type.length && bytes.subarray(4, 4 + length).toString('latin1') === type && bytes.length > 4 + length
  )
}
