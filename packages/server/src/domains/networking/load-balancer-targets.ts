/** NICs behind a load balancer, explicit ones and those of VMs with categories. Source: behaviour networking.md 1.14. */
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { textOf } from '../../core/ip-address.ts'
import { pathOf } from '../../core/standard.ts'
import type { BalancerProgram, BalancerTarget, HealthCheck } from '../../drivers/load-balancing.ts'
import { and, equals } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import { MacLease } from '../virtual-machines/mac-lease.ts'
import type { BalancerEntity } from './load-balancer-rules.ts'

export const maximumTargets = 64

type CategoryTarget = NonNullable<BalancerEntity['targetsConfig']['categoryTargets']>[number]

export interface ResolvedTargets {
  /** In the order of `nicTargets`, without deleted NICs. */
  readonly ofNics: readonly BalancerTarget[]
  /** One list for each category target. */
  readonly ofCategories: readonly (readonly BalancerTarget[])[]
}

export async function resolvedTargets(store: Reader, session: BalancerEntity): Promise<ResolvedTargets> {
  const { nicTargets = [], categoryTargets = [] } = session.targetsConfig
  const ofNics: BalancerTarget[] = []
  for (const { virtualNicReference: nicExtId, port } of nicTargets) {
    const nic = await store.findOne(MacLease, { nicExtId })
    if (nic !== undefined) ofNics.push({ nicExtId, vmExtId: nic.vmExtId, port: port! })
  }
  if (categoryTargets.length === 0) return { ofNics, ofCategories: [] }
  const subnets = await store.findWhere(Subnet, { vpcReference: session.vpcReference })
  const inVpc = new Set(subnets.map(({ extId }) => extId))
  return {
    ofNics,
    ofCategories: await Promise.all(categoryTargets.map((target) => selectedNics(store, inVpc, target))),
  }
}

/** The first NIC in the VPC of each VM with all categories. */
async function selectedNics(
  store: Reader,
  inVpc: ReadonlySet<string>,
  { matchAll, port }: CategoryTarget,
): Promise<readonly BalancerTarget[]> {
  const carries = matchAll.map(({ extId }) => equals(pathOf(Vm, 'categories/extId'), extId))
  const machines = await store.find(Vm, { filter: carries.reduce((all, one) => and(all, one)) })
  return machines.flatMap(({ extId: vmExtId, nics = [] }) => {
    const nic = nics.find(({ networkInfo }) => inVpc.has(networkInfo?.subnet?.extId ?? ''))
    return nic?.extId === undefined ? [] : [{ nicExtId: nic.extId, vmExtId, port }]
  })
}

/** Without repetitions; at most the first `most`. */
export function balancedTargets(
  { ofNics, ofCategories }: ResolvedTargets,
  most = maximumTargets,
): readonly BalancerTarget[] {
  const targets = new Map([...ofNics, ...ofCategories.flat()].map((each) => [`${each.nicExtId} ${each.port}`, each]))
  return [...targets.values()].slice(0, most)
}

export async function balancerOf(store: Reader, session: BalancerEntity): Promise<BalancerProgram> {
  const { virtualIP, protocol, portRanges } = session.listener
  return {
    extId: session.extId,
    vpcExtId: session.vpcReference,
    subnetExtId: virtualIP.subnetReference,
    address: textOf(virtualIP.ipAddress)!,
    protocol,
    portRanges: portRanges.map(({ startPort, endPort }) => ({ startPort, endPort })),
    targets: balancedTargets(await resolvedTargets(store, session)),
  }
}

export function checkOf({ healthCheckConfig: check }: BalancerEntity): HealthCheck {
  return {
    intervalSeconds: check.intervalSecs!,
    timeoutSeconds: check.timeoutSecs!,
    successThreshold: check.successThreshold!,
    failureThreshold: check.failureThreshold!,
  }
}
