package pbft

import (
	"cmp"
	"slices"

	"protosim/simkit"
)

// What replicas prove to each other: checkpoints (§4.3), prepared requests (§4.2) and new views (§4.4).

// -- Checkpoints ------------------------------------------------------------------------------------------------------

// checkpointAgreement: correct replicas have the same state at the same sequence number (§4.3).
func (s *Section4) checkpointAgreement(node string, m Checkpoint) error {
	if m.Signer != node || s.isState(m.Number, m.Digest) {
		return nil
	}
	return simkit.Break("checkpoint_agreement", "%s has another state at checkpoint %d than others have", node, m.Number)
}

func (s *Section4) sameState(x simkit.Restored) error {
	if state, isState := x.State.(State); isState && s.isState(x.Index, DigestOf(state)) {
		return nil
	}
	return simkit.Break("checkpoint_agreement", "%s took over another state for checkpoint %d than others have",
		x.Node, x.Index)
}

func (s *Section4) isState(number int, digest simkit.Digest) bool {
	if known, ok := s.states[number]; ok {
		return known == digest
	}
	s.states[number] = digest
	return true
}

// stableByQuorum: a stable checkpoint has the signatures of 2f + 1 replicas (§4.3).
func (s *Section4) stableByQuorum(node string, proof []Checkpoint) error {
	s.reached["checkpoint_stable"] = s.reached["checkpoint_stable"] || len(proof) > 0
	if len(proof) == 0 || s.provesStable(proof, proof[0].Number) {
		return nil
	}
	return simkit.Break("stable_by_quorum", "%s takes checkpoint %d for stable, and %v proves nothing",
		node, proof[0].Number, proof)
}

// provesStable says whether it has the signatures of 2f + 1 replicas for one state, and nothing else; or none is needed.
func (s *Section4) provesStable(proof []Checkpoint, number int) bool {
	if len(proof) == 0 {
		return number == 0
	}
	signers := map[string]bool{}
	for _, m := range proof {
		if !m.Valid || m.Number != number || m.Digest != proof[0].Digest {
			return false
		}
		signers[m.Signer] = true
	}
	return len(signers) >= s.quorum()
}

// -- Three phases -----------------------------------------------------------------------------------------------------

// certificates: one has the signatures of 2f + 1 replicas, and no two correct replicas prepare different requests in one
// view and sequence number (§4.2, prepared).
func (s *Section4) certificates(x simkit.Stored) error {
	for _, each := range x.Added {
		c := each.(Prepared)
		p := at{c.PrePrepare.View, c.PrePrepare.Number}
		if digest, known := s.preparedAt[p]; known && digest != c.PrePrepare.Digest {
			return simkit.Break("prepared_agreement", "%s prepared another digest in view %d and number %d than others",
				x.Node, p.view, p.number)
		}
		s.preparedAt[p] = c.PrePrepare.Digest
		if !s.provesPrepared(c) {
			return simkit.Break("prepared_by_quorum", "%s stores %+v, which proves nothing", x.Node, c)
		}
	}
	return nil
}

// provesPrepared says whether it has the signatures of the primary and of 2f backups, and nothing else.
func (s *Section4) provesPrepared(c Prepared) bool {
	primary := s.primaryOf(c.PrePrepare.View)
	signers := map[string]bool{primary: true}
	for _, m := range c.Prepares {
		if !m.Valid || m.Slot != c.PrePrepare.Slot {
			return false
		}
		signers[m.Signer] = true
	}
	return c.PrePrepare.Valid && c.PrePrepare.Signer == primary && len(signers) >= s.quorum()
}

// agrees is a primary by its pre-prepares, or a backup by its prepare.
func (s *Section4) agrees(node string, offers bool, votes ...PrePrepare) error {
	for _, vote := range votes {
		if vote.Signer != node {
			continue
		}
		if offers {
			s.offers[vote.Slot] = true
		}
		if err := cmp.Or(s.oneDigestInView(node, vote.Slot), s.laterViewsAgree(node, vote.Slot)); err != nil {
			return err
		}
	}
	return nil
}

// oneDigestInView: a correct replica agrees to one digest in a view and sequence number (§4.2).
func (s *Section4) oneDigestInView(node string, slot Slot) error {
	which := agreement{node, at{slot.View, slot.Number}}
	if digest, known := s.agreed[which]; known && digest != slot.Digest {
		return simkit.Break("one_digest_in_view", "%s agreed to two digests in view %d and number %d",
			node, slot.View, slot.Number)
	}
	s.agreed[which] = slot.Digest
	return nil
}

// laterViewsAgree: what may be committed-local in a view is what correct replicas agree to in every later one (§4.4;
// §4.5.1, across views).
func (s *Section4) laterViewsAgree(node string, slot Slot) error {
	if slices.Contains(s.prepares[slot], node) {
		return nil
	}
	s.prepares[slot] = append(s.prepares[slot], node)
	if !slices.Contains(s.proposed[slot.Number], slot) {
		s.proposed[slot.Number] = append(s.proposed[slot.Number], slot)
	}
	for _, certain := range s.certain[slot.Number] {
		if certain.View < slot.View && certain.Digest != slot.Digest {
			return simkit.Break("agreement_across_views",
				"%s agrees to a digest for number %d in view %d, and another may be committed in view %d",
				node, slot.Number, slot.View, certain.View)
		}
	}
	return nil
}

func (s *Section4) commitsOnce(node string, m Commit) error {
	if m.Signer != node || slices.Contains(s.commits[m.Slot], node) {
		return nil
	}
	s.commits[m.Slot] = append(s.commits[m.Slot], node)
	if s.shown[node] == nil {
		s.shown[node] = map[int]int{}
	}
	s.shown[node][m.Number] = m.View
	if slices.Contains(s.certain[m.Number], m.Slot) || !s.canBeQuorum(s.commits[m.Slot]) {
		return nil
	}
	s.certain[m.Number] = append(s.certain[m.Number], m.Slot)
	for _, later := range s.proposed[m.Number] {
		if later.View > m.View && later.Digest != m.Digest {
			return simkit.Break("agreement_across_views", "number %d may be committed in view %d, and had another digest in view %d",
				m.Number, m.View, later.View)
		}
	}
	return nil
}

// proposedByThePrimary: a backup agrees to what the primary has proposed (§4.2, pre-prepare).
func (s *Section4) proposedByThePrimary(node string, m Prepare) error {
	primary := s.primaryOf(m.View)
	if slices.Contains(s.Facts.Liars(), primary) || s.offers[m.Slot] {
		return nil
	}
	return simkit.Break("proposed_by_the_primary", "%s agrees to number %d in view %d, which %s never proposed so",
		node, m.Number, m.View, primary)
}

// leftViewsStayLeft: who has asked for a view, or agreed in it, agrees to nothing in earlier ones (§4.2, §4.4).
func (s *Section4) leftViewsStayLeft(node string, by simkit.Signed, slot Slot) error {
	if by.Signer != node {
		return nil
	}
	before := s.left[node]
	s.left[node] = max(before, slot.View)
	if slot.View < before {
		return simkit.Break("left_views_stay_left", "%s agrees in view %d, and was in view %d, or has asked for it",
			node, slot.View, before)
	}
	return nil
}

// -- View changes -----------------------------------------------------------------------------------------------------

// viewChangeShowsAll: it shows all that the replica has committed since its stable checkpoint (§4.4, P).
func (s *Section4) viewChangeShowsAll(node string, m ViewChange) error {
	if m.Signer != node {
		return nil
	}
	if !slices.Contains(s.viewChanges[m.View], node) {
		s.viewChanges[m.View] = append(s.viewChanges[m.View], node)
	}
	s.left[node] = max(s.left[node], m.View)
	shown := map[int]int{}
	for _, c := range m.Prepared {
		shown[c.PrePrepare.Number] = c.PrePrepare.View
	}
	for _, number := range simkit.SortedKeys(s.shown[node]) {
		view, isShown := shown[number]
		if committed := s.shown[node][number]; number > m.Number && (!isShown || view < committed) {
			return simkit.Break("view_change_shows_all", "%s asks for view %d and does not show number %d, committed in view %d",
				node, m.View, number, committed)
		}
	}
	return nil
}

// viewsFollow: faulty replicas alone cannot make a correct one change views (§4.5.2).
func (s *Section4) viewsFollow(node string, m ViewChange) error {
	before := s.highest
	if m.Signer == node {
		s.highest = max(before, m.View)
	}
	if s.highest > before+1 {
		return simkit.Break("views_follow_correct_replicas", "%s asks for view %d, and nobody is beyond %d", node, m.View, before)
	}
	return nil
}

// newViewByQuorum: a new view begins when 2f + 1 replicas ask for it, by its primary (§4.4).
func (s *Section4) newViewByQuorum(node string, m *NewView) error {
	const name = "new_view_by_quorum"
	if m == nil {
		return simkit.Break(name, "%s forgets the view that it has entered", node)
	}
	if asking := s.viewChanges[m.View]; !s.canBeQuorum(asking) {
		return simkit.Break(name, "%s enters view %d, which only %q asked for", node, m.View, asking)
	}
	for _, x := range m.ViewChanges {
		if x.View != m.View || !s.provesViewChange(x) {
			return simkit.Break(name, "%s enters view %d by %+v, which proves nothing", node, m.View, x)
		}
	}
	if !m.Valid || m.Signer != s.primaryOf(m.View) {
		return simkit.Break(name, "%s enters view %d, and its primary never began it", node, m.View)
	}
	return nil
}

func (s *Section4) provesViewChange(m ViewChange) bool {
	for _, c := range m.Prepared {
		if c.PrePrepare.Number <= m.Number || c.PrePrepare.View >= m.View || !s.provesPrepared(c) {
			return false
		}
	}
	return m.Valid && s.provesStable(m.Proof, m.Number)
}

// newViewIsComplete: it carries over what its view changes show (§4.4, O).
func (s *Section4) newViewIsComplete(node string, m *NewView) error {
	const name = "new_view_is_complete"
	if m == nil {
		return nil
	}
	latest, last, stable := map[int]Slot{}, 0, 0
	for _, x := range m.ViewChanges {
		stable = max(stable, x.Number)
		for _, c := range x.Prepared {
			p := c.PrePrepare.Slot
			if known, ok := latest[p.Number]; !ok || cmp.Or(known.View-p.View, cmp.Compare(known.Digest, p.Digest)) < 0 {
				latest[p.Number] = p
			}
			last = max(last, p.Number)
		}
	}
	for _, p := range m.PrePrepares {
		shown, ok := latest[p.Number]
		if !ok {
			shown.Digest = null
		}
		if p.Digest != shown.Digest {
			return simkit.Break(name, "%s enters view %d with another digest for number %d than its view changes show",
				node, m.View, p.Number)
		}
	}
	proof := s.Facts.Written(node).Fields["proof"].([]Checkpoint)
	if stable > 0 && (len(proof) == 0 || stable > proof[0].Number) {
		return simkit.Break(name, "%s enters view %d without checkpoint %d, which a view change shows", node, m.View, stable)
	}
	if last > stable+len(m.PrePrepares) {
		return simkit.Break(name, "%s enters view %d without number %d, which a view change shows", node, m.View, last)
	}
	return nil
}
