/** What whoever walks knows: what they asked for, what they were told, and what there is to name in the next request. */

import { seedId } from '../../../src/core/ids/named-id.ts'
import { beginning } from '../../support/start-app.ts'
import { demoRoutes } from '../../support/vpcs.ts'
import type { Asked } from '../asked.ts'
import type { Draw } from './draw.ts'
import type { Told } from './service.ts'

export const collections = {
  antiAffinityPolicies: '/vmm/v4.2/ahv/policies/vm-anti-affinity-policies',
  backupTargets: `/platform/v4.3/management/domain-managers/${seedId('manager')}/backup-targets`,
  categories: '/platform/v4.3/config/categories',
  clusters: '/clustermgmt/v4.2/config/clusters',
  containers: '/clustermgmt/v4.2/config/storage-containers',
  groups: '/volumes/v4.2/config/volume-groups',
  hostAffinityPolicies: '/vmm/v4.2/ahv/policies/vm-host-affinity-policies',
  images: '/vmm/v4.2/content/images',
  iscsiClients: '/volumes/v4.2/config/iscsi-clients',
  loadBalancers: '/networking/v4.3/config/load-balancer-sessions',
  nvmfClients: '/volumes/v4.2/config/nvmf-clients',
  ovas: '/vmm/v4.2/content/ovas',
  policies: '/iam/v4.1.b2/authz/authorization-policies',
  profiles: '/clustermgmt/v4.2/config/cluster-profiles',
  recoveryPoints: '/vmm/v4.2/ahv/config/vm-recovery-points',
  roles: '/iam/v4.1.b2/authz/roles',
  routes: demoRoutes('prod'),
  routingPolicies: '/networking/v4.3/config/routing-policies',
  startupPolicies: '/vmm/v4.2/ahv/policies/vm-startup-policies',
  subnets: '/networking/v4.3/config/subnets',
  tasks: '/platform/v4.3/config/tasks',
  templates: '/vmm/v4.2/content/templates',
  users: '/iam/v4.1.b2/authn/users',
  vms: '/vmm/v4.2/ahv/config/vms',
  vpcs: '/networking/v4.3/config/vpcs',
} as const

/** Of the demo: few, so that requests meet each other. */
const known: Readonly<Record<string, readonly string[]>> = {
  [collections.categories]: ['category/Environment/Dev', 'category/AppTier/Web'],
  [collections.clusters]: ['cluster/hp-native-01', 'cluster/hp-extern-01'],
  [collections.containers]: ['container/hp-native-01/default', 'container/hp-native-01/db-gold'],
  [collections.groups]: ['volume-group/vg-unused'],
  [collections.images]: ['image/ubuntu-24.04.qcow2'],
  [collections.loadBalancers]: ['load-balancer-session/web-lb'],
  [collections.profiles]: ['cluster-profile/baseline'],
  [collections.recoveryPoints]: ['recovery-point/db-01/60', 'recovery-point/db-01/36'],
  [collections.subnets]: ['subnet/vlan-100-app', 'subnet/web'],
  [collections.users]: ['user/viewer', 'user/operator'],
  [collections.vms]: ['vm/web-01', 'vm/template-source'],
  [collections.vpcs]: ['vpc/prod'],
}

/** A mutation that was sent. */
export interface Sent {
  readonly asked: Asked
  readonly requestId: string
  /** Time of the world. */
  readonly at: number
  /** The success that was answered first. Absent: it was refused, or nobody knows what came of it. */
  told?: Told
  /** Whether it may have been done although nobody was told so. */
  mayBeDone: boolean
}

export class Model {
  /** In the order in which they were accepted, as far as that is known. */
  readonly sent: Sent[] = []
  /** Calls that nobody has answered yet: something holds them up. */
  readonly waiting = new Set<Promise<unknown>>()
  /** Rules of faults that may be there. */
  readonly rules = new Set<string>()
  /** By name, with what each held when it had come to rest. */
  readonly forks = new Map<string, readonly string[]>()
  /** Of the world, as it was last told. */
  time = beginning
  readonly #paths = new Map<string, string[]>()
  #numbers = 0

  constructor() {
    this.forget()
  }

  /** The world was reset: earlier requests no longer count. */
  forget(): void {
    this.sent.length = 0
    this.rules.clear()
    this.#paths.clear()
    this.time = beginning
    for (const [collection, names] of Object.entries(known))
      this.#paths.set(
        collection,
        names.map((name) => `${collection}/${seedId(name)}`),
      )
  }

  /** Another one each time, and the same ones in each run. */
  number(): number {
    return ++this.#numbers
  }

  requestId(): string {
    return `00000000-0000-4000-8000-${String(this.number()).padStart(12, '0')}`
  }

  learn(collection: string, extId: string): void {
    const paths = this.#paths.get(collection) ?? []
    const path = `${collection}/${extId}`
    // The newest first: shrunk choices name what the walk itself has made.
    if (!paths.includes(path)) this.#paths.set(collection, [path, ...paths])
  }

  /** Path of one of a collection, or of something that nobody has heard of. */
  path(draw: Draw, collection: string): string {
    const paths = this.#paths.get(collection) ?? []
    const isWrong = draw.isOneIn(16) || paths.length === 0
    return isWrong ? `${collection}/00000000-0000-4000-8000-00000000dead` : draw.of(paths)
  }

  extId(draw: Draw, collection: string): string {
    return lastOf(this.path(draw, collection))
  }

  /** Path of one of all collections that are called so, whatever they are parts of. */
  part(draw: Draw, called: string): string | undefined {
    const paths = [...this.#paths].flatMap(([collection, paths]) => (collection.endsWith(`/${called}`) ? paths : []))
    return paths.length === 0 ? undefined : draw.of(paths)
  }
}

export const lastOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
