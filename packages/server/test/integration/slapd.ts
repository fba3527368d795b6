/**
 * A real LDAP server (Debian's slapd) for a test: on a free loopback port, over LDAP and LDAPS, with two trees. Below
 * dc=example,dc=com people and groups stand as an OpenLDAP keeps them; below dc=ad,dc=test as an Active Directory does.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Attribute, Change, Client } from 'ldapts'

export const rootPassword = 'root-of-the-test'

export interface Slapd {
  /** `ldap://127.0.0.1:<port>` */
  readonly url: string
  /** `ldaps://127.0.0.1:<port>` */
  readonly secureUrl: string
  /** Certificate of the authority that signed the server's. */
  readonly authorityFile: string
  /** Names of who bound, or tried to, since the last call. */
  binds(): Promise<readonly string[]>
  add(name: string, attributes: Readonly<Record<string, string | string[]>>): Promise<void>
  set(name: string, attribute: string, values: readonly string[]): Promise<void>
  /** Holds the process: it accepts connections and answers nothing. */
  hold(): void
  goOn(): void
  stop(): Promise<void>
}

export async function startSlapd(): Promise<Slapd> {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-slapd-'))
  makeCertificates(folder)
  for (const name of ['example', 'ad']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'slapd.conf'), configuration(folder))
  const [port, securePort] = await freePorts()
  const url = `ldap://127.0.0.1:${port}`
  const secureUrl = `ldaps://127.0.0.1:${securePort}`
  // 256: a line for each operation.
  const args = ['-d', '256', '-h', `${url}/ ${secureUrl}/`, '-f', join(folder, 'slapd.conf')]
  const child = spawn('/usr/sbin/slapd', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const seen: string[] = []
  const root = new Client({ url })
  try {
    await started(child, seen)
    await bindWhenListening(root, child)
  } catch (error) {
    // A process that stays would keep the run of the tests from ending.
    child.kill('SIGKILL')
    throw error
  }
  const slapd: Slapd = {
    url,
    secureUrl,
    authorityFile: join(folder, 'ca.pem'),
    async binds() {
      // A search of our own, whose line comes after those of everybody before it.
      const mark = `cn=mark-${seen.length}`
      await root.search('', { scope: 'base', filter: `(${mark})` })
      while (!seen.some((line) => line.includes(mark))) await new Promise((resolve) => setImmediate(resolve))
      const names = seen.flatMap((line) => / BIND dn="([^"]*)" method/.exec(line)?.[1] ?? [])
      seen.length = 0
      return names
    },
    add: (name, attributes) => root.add(name, { ...attributes }),
    set: (name, attribute, values) =>
      root.modify(
        name,
        new Change({ operation: 'replace', modification: new Attribute({ type: attribute, values: [...values] }) }),
      ),
    hold: () => void child.kill('SIGSTOP'),
    goOn: () => void child.kill('SIGCONT'),
    async stop() {
      await root.unbind()
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      rmSync(folder, { recursive: true })
    },
  }
  await fill(slapd)
  return slapd
}

async function started(child: ChildProcess, seen: string[]): Promise<void> {
  const failed = once(child, 'error').then(([error]) => {
    throw new Error(`slapd does not start (${(error as NodeJS.ErrnoException).code}): install it, as .ci/run does`)
  })
  const ended = once(child, 'exit').then(() => {
    throw new Error(`slapd ended: ${seen.join('\n')}`)
  })
  const ready = new Promise<void>((resolve) => {
    createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => {
      seen.push(line)
      if (line.includes('slapd starting')) resolve()
    })
  })
  // One of them goes on after the others: nobody waits for it then.
  for (const one of [failed, ended]) one.catch(() => undefined)
  await Promise.race([ready, failed, ended])
}

/** slapd prints that it starts before it listens on its ports: the first connections can be refused. */
async function bindWhenListening(root: Client, child: ChildProcess): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await root.bind('cn=root,dc=example,dc=com', rootPassword)
    } catch (error) {
      const refused = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'
      if (!refused || child.exitCode !== null || attempt === 200) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

function makeCertificates(folder: string): void {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const key = ['-newkey', 'rsa:2048', '-nodes', '-days', '2']
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Test Authority')
  openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'server.key',
    '-out',
    'server.pem',
    '-subj',
    '/CN=directory',
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    '-addext',
    'subjectAltName=IP:127.0.0.1',
    '-addext',
    'basicConstraints=critical,CA:FALSE',
  )
}

/** What an Active Directory calls its people; the rest is common. Numbers below 2.25 are nobody's. */
const schema = `
attributetype ( 2.25.1.1 NAME 'sAMAccountName' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
attributetype ( 2.25.1.2 NAME 'userPrincipalName' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
attributetype ( 2.25.1.3 NAME 'userAccountControl' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
objectclass ( 2.25.2.1 NAME 'user' SUP inetOrgPerson STRUCTURAL MAY ( sAMAccountName $ userPrincipalName $ userAccountControl ) )
objectclass ( 2.25.2.2 NAME 'computer' SUP user STRUCTURAL )
objectclass ( 2.25.2.3 NAME 'group' SUP top STRUCTURAL MUST cn MAY ( member $ sAMAccountName $ description ) )
`

const configuration = (folder: string): string => `
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
${schema}
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
TLSCACertificateFile ${folder}/ca.pem
TLSCertificateFile ${folder}/server.pem
TLSCertificateKeyFile ${folder}/server.key
sizelimit size=500 size.prtotal=unlimited

database mdb
suffix "dc=ad,dc=test"
rootdn "cn=root,dc=ad,dc=test"
directory ${folder}/ad
maxsize 268435456
dbnosync
index objectClass,member,sAMAccountName eq
access to attrs=userPassword by anonymous auth by dn.exact="cn=root,dc=example,dc=com" write by * none
access to * by dn.exact="cn=root,dc=example,dc=com" write by users read by anonymous auth
overlay memberof
memberof-group-oc group

database mdb
suffix "dc=example,dc=com"
rootdn "cn=root,dc=example,dc=com"
rootpw ${rootPassword}
directory ${folder}/example
maxsize 268435456
dbnosync
index objectClass,member,uid eq
# Whoever may search reads even this: what the service does not answer, it did not ask for.
access to attrs=userPassword by anonymous auth by users read
access to * by users read by anonymous auth
overlay memberof
`

async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()]
  const ports: number[] = []
  for (const server of servers) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    ports.push((server.address() as { port: number }).port)
  }
  for (const server of servers) server.close()
  return ports as [number, number]
}

/** Password of everybody but the root. */
export const password = 'Directory.Secret1'
export const personIn = (name: string): string => `uid=${name},ou=people,dc=example,dc=com`
export const groupIn = (name: string): string => `cn=${name},ou=groups,dc=example,dc=com`
export const adPerson = (name: string): string => `cn=${name},cn=users,dc=ad,dc=test`
export const adGroup = (name: string): string => `cn=${name},cn=users,dc=ad,dc=test`

export const addPerson = (slapd: Slapd, name: string): Promise<void> =>
  slapd.add(personIn(name), {
    objectClass: 'inetOrgPerson',
    uid: name,
    cn: `${name} of the test`,
    sn: name,
    mail: `${name}@example.com`,
    userPassword: password,
  })
export const addGroup = (slapd: Slapd, name: string, member: string[]): Promise<void> =>
  slapd.add(groupIn(name), { objectClass: 'groupOfNames', cn: name, member })

async function fill(slapd: Slapd): Promise<void> {
  for (const tree of ['example,dc=com', 'ad,dc=test'])
    await slapd.add(`dc=${tree}`, {
      objectClass: ['dcObject', 'organization'],
      dc: tree.split(',')[0] as string,
      o: tree,
    })
  for (const unit of ['people', 'groups'])
    await slapd.add(`ou=${unit},dc=example,dc=com`, { objectClass: 'organizationalUnit', ou: unit })
  await slapd.add('cn=users,dc=ad,dc=test', { objectClass: 'organizationalRole', cn: 'users' })
  await addPerson(slapd, 'svc')
  const user = (name: string, control: number) =>
    slapd.add(adPerson(name), {
      objectClass: 'user',
      cn: name,
      sn: name,
      sAMAccountName: name,
      userPrincipalName: `${name}@ad.test`,
      userAccountControl: String(control),
      userPassword: password,
    })
  const enabled = 512
  const disabled = 514
  for (const name of ['svc', 'alice', 'nested']) await user(name, enabled)
  await user('closed', disabled)
  const group = (name: string, members: readonly string[]) =>
    slapd.add(adGroup(name), { objectClass: 'group', cn: name, member: [...members] })
  await group('inner', [adPerson('nested')])
  await group('operators', [adPerson('alice'), adPerson('closed'), adGroup('inner')])
}
