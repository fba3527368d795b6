import type { RemoteManagers } from './remote-managers.ts'

export function chooseRemotes(simulated: RemoteManagers, peers: RemoteManagers): RemoteManagers {
  const at = (address: string): RemoteManagers => (simulated.knows(address) ? simulated : peers)
  return {
    knows: (address) => simulated.knows(address),
    watch: (changed) => simulated.watch(changed),
    reach: (address) => at(address).reach(address),
    identify: (place, ...rest) => at(place.address).identify(place, ...rest),
    exchangeTrust: (place, ...rest) => at(place.address).exchangeTrust(place, ...rest),
    revokeTrust: (place, ...rest) => at(place.address).revokeTrust(place, ...rest),
    probe: (place, ...rest) => at(place.address).probe(place, ...rest),
    networkEntities: (place, ...rest) => at(place.address).networkEntities(place, ...rest),
    // All clusters are simulated.
    inventory: (extId) => simulated.inventory(extId),
    keepInventory: (extId, rows) => simulated.keepInventory(extId, rows),
  }
}
