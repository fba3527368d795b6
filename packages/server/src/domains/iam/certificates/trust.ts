/**
 * Which certificates of clients are trusted now: those that come from an enabled provider, are valid, and are not revoked.
 * Judged for every request; what takes long is remembered by certificate until a provider or a list changes.
 * Source: behaviour iam.md 5.
 */

import type { EntityOf } from '@hyperplane/contract'
import { CertAuthProvider } from '@hyperplane/contract/iam/cert-auth-provider'
import type { Ids } from '../../../core/caller.ts'
import { createLru } from '../../../core/lru.ts'
import type { ClientCertificate, ClientCertificates } from '../../../core/ports.ts'
import type { Clock } from '../../../core/time/clock.ts'
import { type Web, WebError } from '../../../drivers/web.ts'
import type { Store } from '../../../store/store.ts'
import { StoredRevocationList } from '../records.ts'
import { readStoredChain } from './ca-chain.ts'
import {
  authorityOf,
  type Certificate,
  clientAuthentication,
  fingerprintOf,
  isForClients,
  readCertificate,
} from './certificate.ts'
import { maximumAnswerBytes, ocspFault, ocspMediaType, ocspQuestion } from './ocsp.ts'
import { issuersOf } from './path.ts'
import { isRevoked, listFault, type RevocationList, readRevocationList } from './revocation-list.ts'

export type ProviderRow = EntityOf<typeof CertAuthProvider>

/** A certificate that may sign somebody in. */
export interface Trusted {
  readonly provider: ProviderRow
  readonly certificate: Certificate
}

export interface CertificateTrust extends ClientCertificates {
  /** Why not stays inside: a stranger learns nothing. @returns undefined for a certificate that is not trusted */
  judge(shown: ClientCertificate): Promise<Trusted | undefined>
  /** PEM of the authorities whose certificates clients are asked for; empty: none is asked for. */
  authorities(): Promise<readonly string[]>
  /** Rises with every change; what was derived from a judgement holds as long as it stands. */
  readonly generation: number
  onChange(listener: () => void): void
}

interface Provider {
  readonly row: ProviderRow
  readonly chain: readonly Certificate[]
  readonly lists: readonly SignedList[]
}

interface SignedList extends RevocationList {
  /** Authorities of the chain whose list it is. A list may be large: its signature is checked when it is loaded. */
  readonly authorities: ReadonlySet<string>
}

/** What was found out about a certificate, apart from what its responder says at this moment. */
interface Finding extends Trusted {
  /** Its own issuer, then the issuer of that one, up to the root. */
  readonly issuers: readonly [Certificate, ...Certificate[]]
  /** Those of them that the client brought: no administrator vouched for them. */
  readonly between: readonly Certificate[]
  /** World time from which it has to be found out again. */
  readonly until: number
}

const maximumRemembered = 10_000
const maximumPresented = 10
const responderMilliseconds = 3000
const nonceBytes = 16

interface TrustOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Pick<Ids, 'secretBytes'>
  readonly web: Web
}

export const createCertificateTrust = (options: TrustOptions): CertificateTrust => new ProviderTrust(options)

class ProviderTrust implements CertificateTrust {
  readonly #store: Store
  readonly #clock: Clock
  readonly #ids: Pick<Ids, 'secretBytes'>
  readonly #web: Web
  readonly #findings = createLru<Finding>(maximumRemembered)
  /** Authorities that a certificate brought and needs, by its fingerprint: a resumed connection does not send them again. */
  readonly #companions = createLru<readonly Certificate[]>(1000)
  /** Requests to responders that are under way: requests that come together share an answer, later ones ask again. */
  readonly #questions = new Map<string, Promise<boolean>>()
  readonly #listeners: (() => void)[] = []
  #providers: Promise<readonly Provider[]> | undefined
  #generation = 0

  constructor({ store, clock, ids, web }: TrustOptions) {
    this.#store = store
    this.#clock = clock
    this.#ids = ids
    this.#web = web
  }

  async judge(shown: ClientCertificate): Promise<Trusted | undefined> {
    const finding = await this.#find(shown, fingerprintOf(shown.raw))
    if (finding === undefined) return undefined
    const usesOcsp = finding.provider.certRevocationInfo?.isOcspEnabled === true
    return usesOcsp && !(await this.#areGood(finding)) ? undefined : finding
  }

  async authorities(): Promise<readonly string[]> {
    for (;;) {
      const begun = this.#generation
      const all = await this.#enabled()
      // Rows that were read before a change must not be answered after it.
      if (begun === this.#generation) return all.flatMap(({ chain }) => chain.map(({ x509 }) => x509.toString()))
    }
  }

  get generation(): number {
    return this.#generation
  }

  changed(): void {
    this.#generation += 1
    this.#providers = undefined
    this.#findings.clear()
    for (const listener of this.#listeners) listener()
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  async #load(): Promise<readonly Provider[]> {
    const rows = (await this.#store.find(CertAuthProvider)).filter(({ isCertAuthEnabled }) => isCertAuthEnabled)
    return Promise.all(
      rows.map(async (row) => {
        const chain = await readStoredChain(row.clientCaChain)
        const stored = await this.#store.findWhere(StoredRevocationList, { providerExtId: row.extId })
        const lists = stored.map(({ content }) => {
          const list = readRevocationList(Buffer.from(content, 'base64'))
          const own = chain.filter((authority) => listFault(list, authority) === undefined)
          return { ...list, authorities: new Set(own.map(authorityOf)) }
        })
        return { row, chain, lists }
      }),
    )
  }

  #enabled(): Promise<readonly Provider[]> {
    this.#providers ??= this.#load().catch((error) => {
      this.#providers = undefined
      throw error
    })
    return this.#providers
  }

  async #find(shown: ClientCertificate, fingerprint: string): Promise<Finding | undefined> {
    const known = this.#findings.get(fingerprint)
    if (known !== undefined && this.#clock.now() < known.until && known.certificate.notBefore <= this.#clock.now())
      return known
    const begun = this.#generation
    const all = await this.#enabled()
    if (all.length === 0) return undefined
    const certificate = await parsed(shown.raw)
    if (certificate === undefined) return undefined
    const presented = await this.#presentedWith(shown, certificate)
    for (const provider of all) {
      const finding = this.#judgeBy(provider, certificate, presented)
      if (finding === undefined) continue
      if (begun === this.#generation) this.#findings.set(fingerprint, finding)
      return finding
    }
    return undefined
  }

  async #presentedWith(shown: ClientCertificate, { fingerprint }: Certificate): Promise<readonly Certificate[]> {
    const fresh = shown.presented.slice(0, maximumPresented)
    if (fresh.length === 0) return this.#companions.get(fingerprint) ?? []
    return (await Promise.all(fresh.map(parsed))).filter((each) => each !== undefined)
  }

  #judgeBy(
    { row, chain, lists }: Provider,
    certificate: Certificate,
    presented: readonly Certificate[],
  ): Finding | undefined {
    const now = this.#clock.now()
    const [issuer, ...others] = issuersOf(certificate, presented, chain, now) ?? []
    if (issuer === undefined || !maySignIn(certificate, row)) return undefined
    const between = [issuer, ...others].filter((one) => !isIn(chain, one))
    // Whoever has no path leaves nothing behind: strangers must not crowd out what others brought.
    this.#companions.set(certificate.fingerprint, between)
    const issuers = [issuer, ...others] as const
    const ends = [certificate, ...issuers].map(({ notAfter }) => notAfter)
    if (row.certRevocationInfo?.isCrlEnabled === true) {
      for (const [index, subject] of [certificate, ...issuers.slice(0, -1)].entries()) {
        const authority = issuers[index] as Certificate
        const current = lists.filter((list) => list.nextUpdate > now && list.authorities.has(authorityOf(authority)))
        // An administrator vouched for the authorities of the chain; anything else must stand in the light of a list.
        const isVouchedFor = index > 0 && isIn(chain, subject)
        if (current.length === 0 && !isVouchedFor) return undefined
        if (current.some((list) => isRevoked(list, subject.serial))) return undefined
        ends.push(...current.map(({ nextUpdate }) => nextUpdate))
      }
    }
    return { provider: row, certificate, issuers, between, until: Math.min(...ends) }
  }

  /** Of everything that nothing else has proved good: the certificate, and what it brought, unless lists tell of that. */
  async #areGood({ provider, certificate, issuers, between }: Finding): Promise<boolean> {
    const subjects = provider.certRevocationInfo?.isCrlEnabled === true ? [certificate] : [certificate, ...between]
    const answers = subjects.map((subject) => {
      const [issuer] = subject === certificate ? issuers : issuers.slice(issuers.indexOf(subject) + 1)
      return issuer !== undefined && this.#isGood(provider, subject, issuer)
    })
    return (await Promise.all(answers)).every((isGood) => isGood)
  }

  /** The responder says "good", within three seconds; whatever else happens is a no. */
  #isGood(provider: ProviderRow, certificate: Certificate, issuer: Certificate): Promise<boolean> {
    const key = `${this.#generation} ${certificate.fingerprint}`
    const running = this.#questions.get(key)
    if (running !== undefined) return running
    const asked = this.#ask(provider, certificate, issuer).finally(() => this.#questions.delete(key))
    this.#questions.set(key, asked)
    return asked
  }

  async #ask(provider: ProviderRow, certificate: Certificate, issuer: Certificate): Promise<boolean> {
    const url = provider.certRevocationInfo?.ocspResponder ?? certificate.ocspUrl
    if (url === undefined || !/^https?:/.test(url) || !URL.canParse(url)) return false
    try {
      const question = await ocspQuestion(certificate, issuer, this.#ids.secretBytes(nonceBytes))
      const answer = await this.#web.fetch({
        url,
        question: { contentType: ocspMediaType, content: question.content },
        maximumBytes: maximumAnswerBytes,
        timeoutMilliseconds: responderMilliseconds,
      })
      return (await ocspFault(answer, question, certificate, issuer, this.#clock.now())) === undefined
    } catch (error) {
      if (error instanceof WebError) return false
      throw error
    }
  }
}

/** A certificate that says what it is for must be for clients; one of a smart card must say so, and name a user principal. */
function maySignIn(certificate: Certificate, { isCacEnabled }: ProviderRow): boolean {
  if (!isForClients(certificate) || !certificate.signsMessages) return false
  const { purposes = [], userPrincipalNames } = certificate
  return !isCacEnabled || (purposes.includes(clientAuthentication) && userPrincipalNames.length > 0)
}

const isIn = (chain: readonly Certificate[], { fingerprint }: Certificate): boolean =>
  chain.some((one) => one.fingerprint === fingerprint)

async function parsed(raw: Uint8Array): Promise<Certificate | undefined> {
  try {
    return await readCertificate(raw)
  } catch {
    return undefined
  }
}
