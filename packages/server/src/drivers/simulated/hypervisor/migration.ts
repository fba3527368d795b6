import type { Migration } from '../../hypervisor.ts'
import type { SimulatedHosts } from './hosts.ts'

export function createMigration(hosts: SimulatedHosts): Migration {
  return {
    async migrateVm(vmExtId, toHostExtId) {
      const fact = hosts.domain(vmExtId)
      if (fact.state === 'OFF' || fact.hostExtId === toHostExtId) return
      hosts.requireAnswer('migrateVm', [...hosts.placesOf(fact), toHostExtId])
      hosts.requireDevices(fact.domain, toHostExtId)
      await hosts.domains.put(vmExtId, { ...fact, hostExtId: toHostExtId })
    },
  }
}
