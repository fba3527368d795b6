/** Simulated clusters that begin and end; `hardware.stops` by cluster. Source: behaviour clustermgmt.md 1.2. */
import type { ClusterFormation } from '../cluster-formation.ts'
import type { ClusterSettings } from '../hardware.ts'
import type { ClusterFact } from './hardware.ts'
import { answering } from './hardware-faults.ts'
import { remoteCertificate, remoteInventories, remotePasswordDigest, remoteSides } from './remote-managers.ts'
import type { SimulatedWorld } from './world.ts'

/** Credentials that every new cluster begins with. */
export const factoryLogin = { username: 'admin', password: 'Simulated.Cluster.1' } as const

const factorySettings: ClusterSettings = {
  SNMP_SERVER_CONFIG: { isEnabled: false, transports: [{ protocol: 'UDP', port: 161 }] },
  PULSE_CONFIG: { isEnabled: false, piiScrubbingLevel: 'DEFAULT' },
}

export function createClusterFormation(world: SimulatedWorld): ClusterFormation {
  const requireAnswer = answering(world)
  const clusters = world.collection<ClusterFact>('hardware.clusters')
  const stops = world.collection<{ readonly holder: string }>('hardware.stops')
  return {
    async formCluster({ extId, name, hypervisorType, version, address, nodeAddresses, managerExtId }) {
      requireAnswer(extId, 'formCluster')
      const certificate = remoteCertificate(extId)
      if (clusters.get(extId) === undefined) await clusters.put(extId, { settings: factorySettings })
      if (hypervisorType === 'ESX') await world.collection<object>('extern.clusters').put(extId, {})
      await remoteSides(world).put(extId, {
        name,
        type: 'AOS',
        address,
        version,
        nodeAddresses,
        certificate,
        username: factoryLogin.username,
        passwordDigest: remotePasswordDigest(extId, factoryLogin.password),
        trusts: [managerExtId],
      })
      return { certificate }
    },

    async dissolveCluster(clusterExtId) {
      if (clusters.get(clusterExtId) === undefined) return
      requireAnswer(clusterExtId, 'dissolveCluster')
      for (const name of ['hardware.accounts', 'hardware.containers', 'hardware.datastores']) {
        const facts = world.collection<{ readonly clusterExtId: string }>(name)
        for (const [key, fact] of [...facts.all()]) if (fact.clusterExtId === clusterExtId) await facts.remove(key)
      }
      for (const facts of [stops, remoteSides(world), remoteInventories(world)]) await facts.remove(clusterExtId)
      for (const name of ['extern.clusters', 'extern.vcenters', 'hardware.certificates'])
        await world.collection(name).remove(clusterExtId)
      // Last, so that a repeated call finds the rest.
      await clusters.remove(clusterExtId)
    },

    async stopServices(clusterExtId, holder) {
      requireAnswer(clusterExtId, 'stopServices')
      await stops.put(clusterExtId, { holder })
    },

    async startServices(clusterExtId) {
      if (stops.get(clusterExtId) === undefined) return
      requireAnswer(clusterExtId, 'startServices')
      await stops.remove(clusterExtId)
    },

    servicesStoppedBy: (clusterExtId) => stops.get(clusterExtId)?.holder,
  }
}
