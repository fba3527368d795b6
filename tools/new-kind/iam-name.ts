/** Names of IAM operations by method and path, with their exceptions. Source: behaviour iam.md 7. */

export interface IamName {
  readonly displayName: string
  readonly entity: string
}

const irregular: Readonly<Record<string, string>> = {
  'clustermgmt.deleteClusterById': 'Destroy_Cluster',
  'clustermgmt.discoverUnconfiguredNodes': 'Discover_Cluster_Unconfigured_Nodes',
  'clustermgmt.expandCluster': 'Expand_Cluster',
  'clustermgmt.fetchNodeNetworkingDetails': 'Fetch_Cluster_Node_Networking_Details',
  'clustermgmt.removeNode': 'Remove_Cluster_Node',
}

/** Exceptions for collections: namespace and fixed path segments -> words, entity in policies. */
const collections: readonly (readonly [path: RegExp, words: string, entity?: string])[] = [
  [/^clustermgmt.*\/clusters\/hosts$/, 'Cluster_Host', 'host'],
  [/^clustermgmt.*\/ssl-certificate$/, 'Cluster_SSL_Certificate', 'cluster'],
  [/^clustermgmt.*\/rackable-units$/, 'Cluster_Rackable_Unit', 'cluster'],
  [/^clustermgmt.*\/disks$/, 'Cluster_Disk', 'disk'],
  [/^clustermgmt.*\/task-response$/, 'Cluster_Task_Response', 'cluster'],
  [/^vmm\/extern.*\/vms$/, 'External_Virtual_Machine', 'external_virtual_machine'],
  [/^vmm.*\/vms$/, 'Virtual_Machine', 'virtual_machine'],
  [/^volumes.*\/volume-groups\/disks$/, 'Volume_Group_Disk', 'volume_group'],
]

/** @param key `vmm.cloneVm` @param path without the version, `/ahv/config/vms/{extId}/$actions/clone` */
export function iamName(key: string, method: string, path: string): IamName {
  const namespace = key.slice(0, key.indexOf('.'))
  const [collectionPath = '', action] = path.split('/$actions/')
  const fixed = collectionPath.split('/').filter((segment) => segment !== '' && !segment.startsWith('{'))
  const { words, entity } = wordsOf([namespace, ...fixed].join('/'), fixed.at(-1) ?? '')
  const statistics = fixed[0] === 'stats' || fixed[1] === 'stats'
  return { displayName: irregular[key] ?? `${verbOf(method, action)}_${words}${statistics ? '_Stats' : ''}`, entity }
}

function wordsOf(collection: string, last: string): { words: string; entity: string } {
  const exception = collections.find(([path]) => path.test(collection))
  const [, words = titled(singular(last)), entity = words.toLowerCase()] = exception ?? []
  return { words, entity }
}

function verbOf(method: string, action: string | undefined): string {
  if (action !== undefined) return titled(action)
  const verbs: Readonly<Record<string, string>> = {
    GET: 'View',
    POST: 'Create',
    PUT: 'Update',
    PATCH: 'Update',
    DELETE: 'Delete',
  }
  return verbs[method] as string
}

const singular = (word: string): string =>
  word
    .replace(/ies$/, 'y')
    .replace(/(ch|sh|ss|us)es$/, '$1')
    .replace(/([^sui])s$/, '$1')

const titled = (words: string): string =>
  words
    .split('-')
    .map((word) => (word === 'vm' ? 'VM' : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('_')
