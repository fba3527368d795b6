/**
 * Domain managers. Of this one, size, version and resources follow from how the service is started; the rest is stored.
 * Source: behaviour platform.md 4.
 */
import type { EntityOf } from '@hyperplane/contract'
import { DomainManager, domainManagerOperations } from '@hyperplane/contract/platform/domain-manager'
import type { Tier } from '../../core/rate-limit.ts'
import { implement, type ReadContext } from '../context.ts'
import { seedId } from '../seed.ts'

type Manager = EntityOf<typeof DomainManager>
export type Size = Manager['config']['size']

/** This instance, which is also the manager cluster of clustermgmt. */
export const ownManagerExtId = seedId('manager')

const gibibyte = 1024 ** 3

/** One node of each size. */
export const sizes: {
  readonly [size in Size]: { readonly vcpus: number; readonly memoryGib: number; readonly diskGib: number }
} = {
  STARTER: { vcpus: 4, memoryGib: 18, diskGib: 100 },
  SMALL: { vcpus: 10, memoryGib: 35, diskGib: 500 },
  LARGE: { vcpus: 18, memoryGib: 70, diskGib: 2500 },
  EXTRALARGE: { vcpus: 24, memoryGib: 134, diskGib: 2500 },
}

export const sizeOfTier: { readonly [tier in Tier]: Size } = {
  xsmall: 'STARTER',
  small: 'SMALL',
  large: 'LARGE',
  xlarge: 'EXTRALARGE',
}

export const domainManager = implement(domainManagerOperations, {}, { present: [[DomainManager, presentManagers]] })

async function presentManagers(ctx: ReadContext, managers: readonly Manager[]): Promise<readonly Manager[]> {
  const { tier, version } = ctx.services
  return managers.map((manager) =>
    manager.extId === ownManagerExtId ? describeOwn(manager, sizeOfTier[tier], version) : manager,
  )
}

/** This manager as it runs now. Resources are the sum of its nodes. */
export function describeOwn(manager: Manager, size: Size, version: string): Manager {
  const nodes = Math.max(1, manager.nodeExtIds?.length ?? 1)
  const { vcpus, memoryGib, diskGib } = sizes[size]
  const resourceConfig = {
    ...manager.config.resourceConfig,
    numVcpus: nodes * vcpus,
    memorySizeBytes: nodes * memoryGib * gibibyte,
    dataDiskSizeBytes: nodes * diskGib * gibibyte,
  }
  return { ...manager, config: { ...manager.config, size, buildInfo: { version }, resourceConfig } }
}
